/* The workers that beat. */
#include "preprocess/dispatcher/pool.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <stdlib.h>

enum { INDEX_MIN = 64 };

void pool_fini(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        free(pool->worker[i].name);
        free(pool->worker[i].endpoint);
    }
    free(pool->worker);
    free(pool->index);
    *pool = (struct pool){0};
}

/* ---- slots by name ---- */

/* Where the name stands in the index, or the free place where it would. */
static uint32_t *place_of(const struct pool *pool, const char *name)
{
    size_t mask = pool->index_size - 1, at = weir_hash64(weir_bytes_of(name), 0) & mask;
    while (pool->index[at] != 0 && !weir_str_equal(pool->worker[pool->index[at] - 1].name, name))
        at = (at + 1) & mask;
    return &pool->index[at];
}

/* At most half full, so that a free place is near. */
static void build_index(struct pool *pool)
{
    size_t size = INDEX_MIN;
    while (size < 4 * pool->count)
        size *= 2;
    free(pool->index);
    pool->index = weir_calloc(size, sizeof(*pool->index));
    pool->index_size = size;
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->worker[i].name != NULL)
            *place_of(pool, pool->worker[i].name) = (uint32_t)i + 1;
    }
}

static int free_slot(struct pool *pool)
{
    for (size_t i = 0; pool->vacant > 0 && i < pool->count; i++) {
        if (pool->worker[i].name != NULL)
            continue;
        pool->vacant--;
        return (int)i;
    }
    if (pool->count == POOL_WORKERS_MAX)
        return -1;
    pool->worker = weir_grow(pool->worker, pool->count, &pool->capacity, sizeof(*pool->worker));
    return (int)pool->count++;
}

static int find(struct pool *pool, const char *name)
{
    if (pool->index_size <= 2 * pool->count)
        build_index(pool);
    uint32_t *place = place_of(pool, name);
    if (*place != 0)
        return (int)*place - 1;
    int slot = free_slot(pool);
    if (slot < 0)
        return -1;
    pool->worker[slot] = (struct pool_worker){.name = weir_strdup(name)};
    *place = (uint32_t)slot + 1;
    return slot;
}

/* ---- beats ---- */

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
    if (worker->left && worker->session == beat->session)
        return -1; /* was on its way */
    *ret_known = worker->session == beat->session;
    if (!*ret_known && worker->session != 0)
        worker->past[worker->past_count++ % POOL_PAST_MAX] = worker->session;
    if (!weir_str_equal(worker->endpoint, beat->endpoint)) {
        free(worker->endpoint);
        worker->endpoint = weir_strdup(beat->endpoint);
    }
    worker->session = beat->session;
    worker->heard_ms = now_ms;
    worker->left = false;
    return slot;
}

int pool_leave(struct pool *pool, const char *name, uint64_t session)
{
    if (pool->index_size == 0)
        return -1;
    uint32_t place = *place_of(pool, name);
    if (place == 0 || session == 0 || pool->worker[place - 1].session != session)
        return -1;
    pool->worker[place - 1].left = true;
    return (int)place - 1;
}

bool pool_is_heard(const struct pool *pool, size_t worker, int64_t now_ms)
{
    return pool->worker[worker].name != NULL && !pool->worker[worker].left &&
           now_ms - pool->worker[worker].heard_ms < POOL_SILENT_MS;
}

bool pool_has_session(const struct pool *pool, uint64_t session)
{
    size_t slot = 0;
    while (slot < pool->count && pool->worker[slot].session != session)
        slot++;
    return session != 0 && slot < pool->count;
}

void pool_look(struct pool *pool, int64_t now_ms)
{
    size_t vacant = pool->vacant;
    pool->live = 0;
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_worker *worker = &pool->worker[i];
        pool->live += pool_is_heard(pool, i, now_ms);
        if (worker->name == NULL || now_ms - worker->heard_ms < POOL_FORGET_MS)
            continue;
        free(worker->name);
        free(worker->endpoint);
        *worker = (struct pool_worker){0};
        pool->vacant++;
    }
    if (pool->vacant > vacant)
        build_index(pool);
}

int64_t pool_beat_ms(const struct pool *pool)
{
    return (int64_t)pool->live * 1000 / POOL_BEATS_A_SECOND;
}

int64_t pool_lease_ms(const struct pool *pool, int64_t least_ms)
{
    int64_t lease_ms = POOL_LEASE_BEATS * pool_beat_ms(pool);
    return lease_ms > least_ms ? lease_ms : least_ms;
}

/* Jump consistent hashing (Lamping, Veach 2014): with one block more, one job in so many moves. */
static uint64_t jump(uint64_t key, uint64_t blocks)
{
    uint64_t at = 0, next = 0;
    while (next < blocks) {
        at = next;
        key = key * 2862933555777941757ULL + 1;
        next = (uint64_t)((double)(at + 1) * ((double)(1LL << 31) / (double)((key >> 33) + 1)));
    }
    return at;
}

size_t pool_crew_of(const struct pool *pool, uint64_t job)
{
    return POOL_CREW * jump(job, (pool->count + POOL_CREW - 1) / POOL_CREW);
}
