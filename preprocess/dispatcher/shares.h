/* Sharing the workers: the pipeline that gets the next lease. Pure: time is handed in. Owned by struct dispatcher.
 *
 * Rules
 *   1  The next lease goes to the pipeline that has had the least worker time for its share
 *      (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996). A pipeline that wants nothing
 *      is passed over, so no worker idles while another wants one.
 *   2  The cost of a lease is known when workers have reported it. Until then it counts as the average
 *      of its pipeline's leases.
 *   3  A pipeline that wanted nothing for a while makes up for SHARES_LATE_NS of a worker at most.
 *      And one is ahead of the newest lease by SHARES_AHEAD_NS at most, whatever its workers say.
 *   4  A pipeline with a bound has leases at no more than so many workers at once. A lease that
 *      is not renewed counts until its time is over.
 *
 * Worker time is CPU time. It is counted from when the pipeline's first job is in use until its last one is
 * not. */
#ifndef WEIR_PREPROCESS_DISPATCHER_SHARES_H
#define WEIR_PREPROCESS_DISPATCHER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARES_LATE_NS = 1000000000 };
#define SHARES_AHEAD_NS INT64_C(100000000000)

struct shares_quota {
    uint64_t pipeline;
    double share;     /* > 0; of worker time, against the shares of the others that want any */
    uint32_t workers; /* at once; 0: as many as there are */
};

bool preprocess_shares_quota_equal(const struct shares_quota *a, const struct shares_quota *b);

/* The leases of a pipeline at one worker. */
struct shares_holder {
    uint32_t worker; /* its slot */
    uint32_t leases;
    int64_t until_ms;
};

struct shares_account {
    struct shares_quota quota;
    size_t jobs;         /* in use */
    int64_t cpu_ns;      /* reported by workers */
    double had;          /* the same by share, from when it joined */
    double mean_ns;      /* of a lease */
    int64_t reported_ns; /* since the mean was taken … */
    uint64_t ended;      /* … and so many leases have ended */
    uint32_t out;        /* leases that its holders have */
    uint32_t here;       /* the caller's: of the worker that it looks at */
    struct shares_holder *holders;
    size_t holder_count, holder_capacity;
};

/* Zeroed is empty. */
struct shares {
    double now; /* virtual: where the newest lease began */
    struct shares_account **accounts;
    size_t count, capacity;
};

void preprocess_shares_fini(struct shares *shares);

/* A job of the pipeline is in use; the newest quota counts. The account lives until as many have left. */
struct shares_account *preprocess_shares_join(struct shares *shares,
                                              const struct shares_quota *quota);
void preprocess_shares_leave(struct shares *shares, struct shares_account *account);

/* Adds time that workers have reported. */
void preprocess_shares_spend(const struct shares *shares, struct shares_account *account,
                             int64_t cpu_ns);
/* Notes the leases of the pipeline at a worker, which count until `until_ms` unless it is seen again. */
void preprocess_shares_see(struct shares_account *account, const struct shares_holder *seen);
/* The worker has ended: it has nothing. */
void preprocess_shares_drop(struct shares *shares, uint32_t worker);

/* True when the worker may be given a lease (rule 4). */
bool preprocess_shares_admit(struct shares_account *account, uint32_t worker, int64_t now_ms);
/* Place of the account in line, the lowest first. */
double preprocess_shares_place(const struct shares *shares, const struct shares_account *account);
/* Charges the account, which comes next, with a lease; preprocess_shares_see() tells where. */
void preprocess_shares_take(struct shares *shares, struct shares_account *account);

#endif
