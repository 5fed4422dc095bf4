/* The workers that beat: slots by name, so that a restarted worker replaces its former self. Pure;
 * owned by struct dispatcher.
 *
 * A beat costs the same for one worker and for thousands. Thousands are asked to beat less often, and their
 * leases live longer, so that all together never ask for more than the dispatcher can do beside its other
 * work. A job is served by its *crew*: one block of POOL_CREW slots, for a consumer is connected to each of
 * them. Jobs are spread over the blocks; when a block is added only few jobs move. */
#ifndef WEIR_PREPROCESS_DISPATCHER_POOL_H
#define WEIR_PREPROCESS_DISPATCHER_POOL_H

#include "core/base/index.h"
#include "core/base/quota.h"
#include "core/rpc/rpc.h"
#include "preprocess/scale/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    POOL_WORKERS_MAX = 16384,
    POOL_KEY_TIMES = 2, /* slots of one key for each that it leaves: a pool of 10,000 has one key */
    POOL_TEXT_MAX = 512, /* characters of a name, and of an endpoint */
    POOL_CREW = 256,
    POOL_PAST_MAX = 8,          /* former sessions remembered per slot */
    POOL_SILENT_MS = 10000,     /* a worker that is silent for longer is not shown to consumers */
    POOL_FORGET_MS = 600000,    /* … and after this time its slot is another's */
    POOL_BEATS_A_SECOND = 3000, /* of all workers together, about */
    POOL_UNREACHED_MS = 3000,   /* it is shown so long that a consumer cannot reach a worker */
    POOL_LEASE_BEATS = 4,       /* minimum life of a lease, in beats */
};

struct pool_worker {
    char *name; /* NULL: the slot is free */
    char *endpoint;
    char *key; /* name of its key; "": it is on this host */
    uint64_t session;
    uint64_t past[POOL_PAST_MAX];
    size_t past_count;
    int64_t heard_ms;
    bool left;   /* in order; until it is heard again */
    bool drains; /* it is to end: it is leased nothing more */
    enum scale_place place;
    uint32_t leases;     /* as it said */
    int64_t cpu_ns;      /* of this session, over all jobs */
    uint64_t bytes_sent; /* of this session, over all jobs */
    uint64_t bytes_read; /* of this session, over all jobs */
    uint32_t queued;     /* finished batches that wait for credit */
    int64_t socket_ns;   /* as it said, of this session … */
    uint64_t socket_bytes, lent_bytes;
    int64_t unreached_ms; /* when a consumer last said that it cannot reach it; 0: never */
    uint64_t mismatches, granted, refused; /* as it said, of this session */
    uint64_t wiped;                        /* newest `wipe` that it has obeyed */
    struct weir_route route;               /* of its newest beat */
};

/* Zeroed is empty. */
struct pool {
    struct pool_worker *worker; /* slots */
    size_t count, capacity;
    struct weir_index names; /* of worker[], by name */
    struct weir_quota quota; /* of slots */
    size_t vacant;           /* slots without a name */
    size_t live;             /* workers that are heard, as of the newest preprocess_pool_look() */
};

struct pool_beat {
    const char *name;
    const char *endpoint;
    uint64_t session;
    const char *key; /* name of the key that it came under; NULL or "": none */
};

void preprocess_pool_fini(struct pool *pool);
/* False for a new name whose key has as many slots as it can have beside others, or when there is no slot left. */
bool preprocess_pool_has_room(const struct pool *pool, const struct pool_beat *beat);
/* Notes a beat and returns the slot, or -1: the beat is of a session that was replaced by one that lives, or of a key
 * other than that of the worker of that name, which lives, or there is no room. `*ret_known` is false for the
 * first beat of a session. */
int preprocess_pool_hear(struct pool *pool, const struct pool_beat *beat, int64_t now_ms,
                         bool *ret_known);
/* The worker ends: it is no longer shown, and no beat of this session counts. Returns the slot, or -1: it has
 * another session, or is not known. */
int preprocess_pool_leave(struct pool *pool, const char *name, uint64_t session);
/* Returns the slot of the name, or -1: it is not known. */
int preprocess_pool_slot(const struct pool *pool, const char *name);
/* Returns the slot of the crew whose worker has this endpoint, or -1: none has. */
int preprocess_pool_at(const struct pool *pool, size_t crew, const char *endpoint);
/* True when a consumer cannot reach the worker, as it has said lately. */
bool preprocess_pool_is_unreached(const struct pool_worker *worker, int64_t now_ms);
bool preprocess_pool_is_heard(const struct pool *pool, size_t worker, int64_t now_ms);
/* True when a worker of this session was heard in the last POOL_FORGET_MS. Looks at all slots. */
bool preprocess_pool_has_session(const struct pool *pool, uint64_t session);
/* Counts the workers that are heard, and forgets those that have long been silent: a few times a second. */
void preprocess_pool_look(struct pool *pool, int64_t now_ms);
/* Return the minimum time between two beats of a worker, and the life of its leases. */
int64_t preprocess_pool_beat_ms(const struct pool *pool);
int64_t preprocess_pool_lease_ms(const struct pool *pool, int64_t least_ms);
/* The first slot of the job's crew. */
size_t preprocess_pool_crew_of(const struct pool *pool, uint64_t job);

#endif
