/* The workers that beat: slots by name, so that a restarted worker replaces its former self. Pure;
 * owned by struct dispatcher. A slot's number never changes; slots are never given up. */
#ifndef WEIR_PREPROCESS_DISPATCHER_POOL_H
#define WEIR_PREPROCESS_DISPATCHER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    POOL_WORKERS_MAX = 256,
    POOL_PAST_MAX = 8,      /* former sessions remembered per slot */
    POOL_SILENT_MS = 10000, /* a worker that was silent for so long is not shown to consumers */
};

struct pool_worker {
    char *name;
    char *endpoint;
    uint64_t session;
    uint64_t past[POOL_PAST_MAX];
    size_t past_count;
    int64_t heard_ms;
    uint32_t leases;     /* as it said */
    int64_t cpu_ns;      /* of this session, over all jobs */
    uint64_t bytes_sent; /* of this session, over all jobs */
};

struct pool {
    struct pool_worker worker[POOL_WORKERS_MAX];
    size_t count;
};

struct pool_beat {
    const char *name;
    const char *endpoint;
    uint64_t session;
};

void pool_fini(struct pool *pool);
/* Notes a beat and returns the slot, or -1: the beat is of a session that was replaced, or there is
 * no slot left. `*ret_known` is false for the first beat of a session. */
int pool_hear(struct pool *pool, const struct pool_beat *beat, int64_t now_ms, bool *ret_known);
bool pool_is_heard(const struct pool *pool, size_t worker, int64_t now_ms);

#endif
