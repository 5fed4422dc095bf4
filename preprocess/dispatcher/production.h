/* Jobs that make the same batches are one production (C20): what a worker makes for one of them, it gives to all. Pure.
 * Owned by struct dispatcher; tests/simulation has productions in it.
 *
 * Leases stay those of each job (job.h). A production only knows which worker makes a group, or made it lately: job.h,
 * rule 10. It is not durable: a dispatcher that has restarted begins another one. */
#ifndef WEIR_PREPROCESS_DISPATCHER_PRODUCTION_H
#define WEIR_PREPROCESS_DISPATCHER_PRODUCTION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    PRODUCTION_WINDOW = 512,     /* groups, over all ranks, whose makers are known … */
    PRODUCTION_KNOWN_MS = 30000, /* … since they took it up: a worker keeps batches for a while */
    PRODUCTION_BUCKETS = 256     /* as many as a crew has workers */
};

struct production_maker {
    uint64_t group;
    uint32_t rank;
    uint32_t worker;   /* its slot */
    uint64_t session;  /* 0: there is none */
    int64_t leased_ms; /* first: nobody waits for ever for one that it cannot be leased to */
    LIST_ENTRY(production_maker) in_bucket; /* private to the production */
};

LIST_HEAD(production_bucket, production_maker);

struct production {
    uint64_t key; /* preprocess_plan_production() */
    size_t jobs;  /* jobs that share it */
    struct production_maker makers[PRODUCTION_WINDOW];
    struct production_bucket buckets[PRODUCTION_BUCKETS]; /* the same, by worker */
};

/* Zeroed is empty. */
struct productions {
    struct production **of;
    size_t count, capacity;
};

void preprocess_productions_fini(struct productions *productions);
/* A job with this key, which is not 0, is in use. The production lives until as many have left. */
struct production *preprocess_production_join(struct productions *productions, uint64_t key);
/* NULL is fine. */
void preprocess_production_leave(struct productions *productions, struct production *production);

/* Notes who makes a group from now on; of two that share a place in the window, the newer one stays. */
void preprocess_production_note(struct production *production,
                                const struct production_maker *maker);
/* Returns who makes a group of a production that several jobs are of; NULL: nobody is known to, or it is not shared. */
const struct production_maker *preprocess_production_maker(const struct production *production,
                                                           uint32_t rank, uint64_t group,
                                                           int64_t now_ms);
/* Returns the next group, in no order, that is made by the worker and session and for the rank of `like`, `after` one
 * (NULL: the first); NULL: there is none. Costs as much as the worker makes, however many others there are. */
const struct production_maker *preprocess_production_own(const struct production *production,
                                                         const struct production_maker *after,
                                                         const struct production_maker *like,
                                                         int64_t now_ms);

#endif
