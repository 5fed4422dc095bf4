/* The groups that one rank of a job still lacks, and the workers that make them: a window around
 * its position, with leases. Part of the pure state machine of job.h, whose rules 2 to 5 are kept here. Owned by:
 * struct dispatcher_job, one of them per rank. */
#ifndef WEIR_PREPROCESS_DISPATCHER_RANK_STATE_H
#define WEIR_PREPROCESS_DISPATCHER_RANK_STATE_H

#include "core/wire/position.h"
#include "core/wire/wire.h"
#include "preprocess/dispatcher/production.h"
#include "preprocess/dispatcher/totals.h"
#include "preprocess/order/geometry.h"

#include <sys/queue.h>

enum {
    DISPATCHER_LEASE_MS = 2000,
    DISPATCHER_SENT_PATIENCE_MS = 2 * DISPATCHER_LEASE_MS,
    DISPATCHER_SILENT_MS = 10000, /* a consumer beats many times in this time */
    DISPATCHER_LEASES_MAX = 64,   /* of one worker in one job */
    /* Of partial fits that wait; those under way come on top. */
    DISPATCHER_FITS_BYTES_MAX = 128 << 20,
};
#define DISPATCHER_NO_GROUP UINT64_MAX

enum dispatcher_group_state {
    DISPATCHER_GROUP_OPEN,
    DISPATCHER_GROUP_LEASED,
    DISPATCHER_GROUP_SENT,
    DISPATCHER_GROUP_FITTED, /* its partial fit is here */
};

struct dispatcher_group {
    enum dispatcher_group_state state;
    bool here; /* the consumer has every batch of it */
    uint32_t worker;
    uint64_t number;  /* its own, once it was leased */
    uint64_t session; /* of the worker */
    uint64_t fence;
    uint64_t fit_bytes;                     /* of its partial fit, while that waits */
    int64_t until_ms;                       /* leased: end; sent: when patience is over */
    LIST_ENTRY(dispatcher_group) in_bucket; /* private: while it is leased or sent */
};

LIST_HEAD(dispatcher_bucket, dispatcher_group);

struct dispatcher_held {
    uint64_t group;
    uint64_t fence;
    bool sent; /* all of its batches */
};

/* The part of a worker's beat that is about one job. */
struct dispatcher_visit {
    uint32_t worker; /* its slot */
    uint64_t session;
    const struct dispatcher_held *held;
    size_t held_count;
    int64_t lease_ms; /* life of its leases */
    /* it is leased nothing, and what it does not list it has given up (job.h, rule 11) */
    bool drains;
    bool only_own; /* lease it nothing but groups that it makes for others of a production */
    /* Says whether a group is left to its maker, who is another worker; NULL: to none. */
    bool (*waits_for)(const void *owner, const struct production_maker *maker);
    const void *owner; /* of that */
};

/* A choice among the groups of a rank. */
struct dispatcher_choice {
    bool (*has)(const struct dispatcher_choice *choice, uint64_t group);
};

/* Bytes in flight, as the consumer has decided (trainer_client/buffering.h). */
struct dispatcher_window {
    uint64_t bytes, need, batch;
    char why[16]; /* "": it has not said */
    double wanted, made, spread;
    int64_t lead_ns;
};

struct dispatcher_rank_state {
    struct preprocess_geometry geometry;
    bool fitting;       /* groups of epoch 0 are leased for partial fits */
    uint64_t fit_bytes; /* of those that wait for the fit of a lower group */
    bool heard;         /* its consumer was heard of in this attempt and incarnation */
    int64_t heard_ms;   /* when; INT64_MIN: just now */
    uint64_t beat_number;
    uint64_t oldest;           /* first batch that is not consumed */
    struct weir_bits received; /* relative to oldest: consumed or waiting at the consumer */
    int64_t steps_ns;          /* spent on steps left to it, as reported */
    int64_t wait_ns;           /* waited for batches, as reported */
    struct dispatcher_slices slices;
    struct dispatcher_window window;

    /* Groups first_group … first_group + capacity - 1, each at index `group % capacity`. */
    uint64_t first_group;
    size_t capacity;
    struct dispatcher_group *groups;

    /* Indexes into the window: a worker's beat costs as much as it changes, whatever the capacity. */
    struct dispatcher_bucket *buckets; /* by worker: groups that are leased or sent */
    uint64_t open_from;                /* first group that may be open */
    uint64_t lack_from;                /* first group that the consumer may lack */
    uint64_t touched_end; /* no group from here on was ever leased, or here, in this window */
    int64_t expire_ms;    /* no lease ends before */
};

void preprocess_rank_init(struct dispatcher_rank_state *rank,
                          const struct preprocess_geometry *geometry, bool fitting);
void preprocess_rank_fini(struct dispatcher_rank_state *rank);
/* Nothing is leased, and the consumer has what is in `position`. Its consumer counts as heard of
 * just now if it `is_here`. */
void preprocess_rank_begin(struct dispatcher_rank_state *rank, const struct weir_position *position,
                           bool is_here);
/* Number of the last group that the rank will ever lease, plus one. */
uint64_t preprocess_rank_end(const struct dispatcher_rank_state *rank);
bool preprocess_rank_has(const struct dispatcher_rank_state *rank,
                         uint64_t group); /* in its window */
struct dispatcher_group *preprocess_rank_group(const struct dispatcher_rank_state *rank,
                                               uint64_t group);
/* Moves the window of a rank that fits operators. */
void preprocess_rank_slide(struct dispatcher_rank_state *rank, uint64_t first_group);

/* A newer beat of its consumer, already checked. */
void preprocess_rank_take(struct dispatcher_rank_state *rank, const struct msg_client_beat *beat,
                          int64_t now_ms);
bool preprocess_rank_listens(const struct dispatcher_rank_state *rank, int64_t now_ms);

/* A worker beats: leases of its slot's former session end, those it lists are renewed, those whose
 * time is over end. Returns how many of the leases that it keeps the worker has listed. */
uint32_t preprocess_rank_visit(struct dispatcher_rank_state *rank,
                               const struct dispatcher_visit *visit, int64_t now_ms);
/* True when the worker has a lease that runs, or has sent a group that the consumer may still get. */
bool preprocess_rank_holds(const struct dispatcher_rank_state *rank, uint32_t worker,
                           uint64_t session, int64_t now_ms);
/* The worker's session has ended: opens the groups that it held, or sent and the consumer has not got. */
void preprocess_rank_leave(struct dispatcher_rank_state *rank, uint32_t worker, uint64_t session);
/* The lowest group that the consumer lacks, and the lowest of the choice that may be leased now;
 * DISPATCHER_NO_GROUP: none. */
uint64_t preprocess_rank_lacking(struct dispatcher_rank_state *rank);
uint64_t preprocess_rank_open(struct dispatcher_rank_state *rank,
                              const struct dispatcher_choice *choice);
/* True when the group may be leased now. */
bool preprocess_rank_is_open(const struct dispatcher_rank_state *rank, uint64_t group);
/* Leases an open group to the visitor. */
void preprocess_rank_lease(struct dispatcher_rank_state *rank, uint64_t group,
                           const struct dispatcher_visit *visit, uint64_t fence, int64_t now_ms);
/* The groups that the worker has leases on now, lowest first; at most `max`. */
size_t preprocess_rank_leases(const struct dispatcher_rank_state *rank, uint32_t worker,
                              uint64_t session, const struct dispatcher_group **ret_groups,
                              size_t max);
/* The partial fit of a group is here: nobody makes it again. */
void preprocess_rank_fitted(struct dispatcher_rank_state *rank, uint64_t group, uint64_t bytes);

#endif
