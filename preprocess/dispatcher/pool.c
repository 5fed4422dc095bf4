/* The workers that beat. */
#include "preprocess/dispatcher/pool.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"

#include <stdlib.h>

void pool_fini(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        free(pool->worker[i].name);
        free(pool->worker[i].endpoint);
    }
    pool->count = 0;
}

static int find(struct pool *pool, const char *name)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (weir_str_equal(pool->worker[i].name, name))
            return (int)i;
    }
    if (pool->count == POOL_WORKERS_MAX)
        return -1;
    pool->worker[pool->count] = (struct pool_worker){.name = weir_strdup(name)};
    return (int)pool->count++;
}

static bool is_past(const struct pool_worker *worker, uint64_t session)
{
    size_t kept = worker->past_count < POOL_PAST_MAX ? worker->past_count : POOL_PAST_MAX;
    for (size_t i = 0; i < kept; i++) {
        if (worker->past[i] == session)
            return true;
    }
    return false;
}

int pool_hear(struct pool *pool, const struct pool_beat *beat, int64_t now_ms, bool *ret_known)
{
    int slot = find(pool, beat->name);
    if (slot < 0 || is_past(&pool->worker[slot], beat->session))
        return -1;
    struct pool_worker *worker = &pool->worker[slot];
    *ret_known = worker->session == beat->session;
    if (!*ret_known && worker->session != 0)
        worker->past[worker->past_count++ % POOL_PAST_MAX] = worker->session;
    if (!weir_str_equal(worker->endpoint, beat->endpoint)) {
        free(worker->endpoint);
        worker->endpoint = weir_strdup(beat->endpoint);
    }
    worker->session = beat->session;
    worker->heard_ms = now_ms;
    return slot;
}

bool pool_is_heard(const struct pool *pool, size_t worker, int64_t now_ms)
{
    return now_ms - pool->worker[worker].heard_ms < POOL_SILENT_MS;
}
