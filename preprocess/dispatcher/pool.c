/* The workers that beat. */
#include "preprocess/dispatcher/pool.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <stdlib.h>

void preprocess_pool_fini(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        free(pool->worker[i].name);
        free(pool->worker[i].endpoint);
        free(pool->worker[i].key);
    }
    free(pool->worker);
    weir_index_fini(&pool->names);
    weir_quota_fini(&pool->quota);
    *pool = (struct pool){0};
}

/* ---- slots by name ---- */

static uint64_t hash_of(const char *name)
{
    return weir_hash64(weir_bytes_of(name), 0);
}

int preprocess_pool_slot(const struct pool *pool, const char *name)
{
    struct weir_index_search search = weir_index_search(&pool->names, hash_of(name));
    uint32_t slot;
    while (weir_index_next(&search, &slot)) {
        if (weir_str_equal(pool->worker[slot].name, name))
            return (int)slot;
    }
    return -1;
}

static void index_names(struct pool *pool)
{
    weir_index_clear(&pool->names);
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->worker[i].name != NULL)
            weir_index_add(&pool->names, hash_of(pool->worker[i].name), (uint32_t)i);
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

bool preprocess_pool_has_room(const struct pool *pool, const struct pool_beat *beat)
{
    return preprocess_pool_slot(pool, beat->name) >= 0 ||
           weir_quota_allows_times(&pool->quota, weir_quota_key(beat->key), 1, POOL_WORKERS_MAX,
                                   POOL_KEY_TIMES);
}

static int find(struct pool *pool, const struct pool_beat *beat)
{
    int slot = preprocess_pool_slot(pool, beat->name);
    if (slot >= 0 || !preprocess_pool_has_room(pool, beat))
        return slot;
    slot = free_slot(pool);
    weir_require(slot >= 0); /* the quota counts them */
    pool->worker[slot] = (struct pool_worker){.name = weir_strdup(beat->name)};
    weir_quota_take(&pool->quota, 0, 1);
    weir_index_add(&pool->names, hash_of(beat->name), (uint32_t)slot);
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

/* True when another session has the slot, and lives: which of two is the later one cannot be told, so the one that goes
 * on beating is in the end. */
static bool is_replaced(const struct pool_worker *worker, uint64_t session, int64_t now_ms)
{
    return worker->session != session && is_past(worker, session) &&
           now_ms - worker->heard_ms < POOL_SILENT_MS;
}

/* True when a worker of that name lives under another key: whoever has that one does not void its leases. */
static bool is_anothers(const struct pool_worker *worker, const char *key, int64_t now_ms)
{
    return worker->key != NULL && !weir_str_equal(worker->key, key) && !worker->left &&
           now_ms - worker->heard_ms < POOL_SILENT_MS;
}

static void keep_key(struct pool *pool, struct pool_worker *worker, const char *key)
{
    if (weir_str_equal(worker->key, key))
        return;
    weir_quota_give(&pool->quota, weir_quota_key(worker->key), 1);
    weir_quota_take(&pool->quota, weir_quota_key(key), 1);
    free(worker->key);
    worker->key = weir_strdup(key);
}

/* Makes `*slot` a copy of the text, unless it is one. */
static void keep_text(char **slot, const char *text)
{
    if (weir_str_equal(*slot, text))
        return;
    free(*slot);
    *slot = weir_strdup(text);
}

int preprocess_pool_hear(struct pool *pool, const struct pool_beat *beat, int64_t now_ms,
                         bool *ret_known)
{
    int slot = find(pool, beat);
    const char *key = beat->key != NULL ? beat->key : "";
    if (slot < 0 || is_anothers(&pool->worker[slot], key, now_ms) ||
        is_replaced(&pool->worker[slot], beat->session, now_ms))
        return -1;
    struct pool_worker *worker = &pool->worker[slot];
    if (worker->left && worker->session == beat->session)
        return -1; /* was on its way */
    *ret_known = worker->session == beat->session;
    if (!*ret_known && worker->session != 0)
        worker->past[worker->past_count++ % POOL_PAST_MAX] = worker->session;
    keep_text(&worker->endpoint, beat->endpoint);
    keep_key(pool, worker, key);
    if (!*ret_known)
        worker->unreached_ms = 0;
    worker->session = beat->session;
    worker->heard_ms = now_ms;
    worker->left = false;
    return slot;
}

int preprocess_pool_leave(struct pool *pool, const char *name, uint64_t session)
{
    int slot = preprocess_pool_slot(pool, name);
    if (slot < 0 || session == 0 || pool->worker[slot].session != session)
        return -1;
    pool->worker[slot].left = true;
    return slot;
}

int preprocess_pool_at(const struct pool *pool, size_t crew, const char *endpoint)
{
    for (size_t i = crew; i < crew + POOL_CREW && i < pool->count; i++) {
        if (pool->worker[i].name != NULL && weir_str_equal(pool->worker[i].endpoint, endpoint))
            return (int)i;
    }
    return -1;
}

bool preprocess_pool_is_unreached(const struct pool_worker *worker, int64_t now_ms)
{
    return worker->unreached_ms != 0 && now_ms - worker->unreached_ms < POOL_UNREACHED_MS;
}

bool preprocess_pool_is_heard(const struct pool *pool, size_t worker, int64_t now_ms)
{
    return pool->worker[worker].name != NULL && !pool->worker[worker].left &&
           now_ms - pool->worker[worker].heard_ms < POOL_SILENT_MS;
}

bool preprocess_pool_has_session(const struct pool *pool, uint64_t session)
{
    size_t slot = 0;
    while (slot < pool->count && pool->worker[slot].session != session)
        slot++;
    return session != 0 && slot < pool->count;
}

void preprocess_pool_look(struct pool *pool, int64_t now_ms)
{
    size_t vacant = pool->vacant;
    pool->live = 0;
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_worker *worker = &pool->worker[i];
        pool->live += preprocess_pool_is_heard(pool, i, now_ms);
        if (worker->name == NULL || now_ms - worker->heard_ms < POOL_FORGET_MS)
            continue;
        weir_quota_give(&pool->quota, weir_quota_key(worker->key), 1);
        free(worker->name);
        free(worker->endpoint);
        free(worker->key);
        *worker = (struct pool_worker){0};
        pool->vacant++;
    }
    if (pool->vacant > vacant)
        index_names(pool);
}

int64_t preprocess_pool_beat_ms(const struct pool *pool)
{
    return (int64_t)pool->live * 1000 / POOL_BEATS_A_SECOND;
}

int64_t preprocess_pool_lease_ms(const struct pool *pool, int64_t least_ms)
{
    int64_t lease_ms = POOL_LEASE_BEATS * preprocess_pool_beat_ms(pool);
    return lease_ms > least_ms ? lease_ms : least_ms;
}

/* Jump consistent hashing (Lamping, Veach 2014): adding a block moves one job in as many as there are blocks. */
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

size_t preprocess_pool_crew_of(const struct pool *pool, uint64_t job)
{
    return POOL_CREW * jump(job, (pool->count + POOL_CREW - 1) / POOL_CREW);
}
