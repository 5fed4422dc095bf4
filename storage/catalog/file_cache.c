/* A hand goes round over groups, and spares once what was used since it last passed: see file_cache.h. */
#include "storage/catalog/file_cache.h"

#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum { VISITS_MAX = 256 }; /* at a time: most may be held */

void storage_file_cache_fini(struct file_cache *cache)
{
    free(cache->groups);
    *cache = (struct file_cache){0};
}

static bool may_leave(const struct file_group *group)
{
    return group->pins == 0 && !group->is_touched && !group->is_ahead && !group->is_taking;
}

static void take_off(struct file_cache *cache, size_t i)
{
    struct file_group *group = cache->groups[i];

    cache->bytes -= group->bytes;
    cache->groups[i] = cache->groups[--cache->count];
    group->bytes = 0;
    storage_file_group_empty(group);
}

/* Nothing leaves under the eyes of a caller that waits for a statement. */
void storage_file_cache_trim(struct file_cache *cache)
{
    if (cache->db != NULL && weir_db_is_waiting(cache->db))
        return;
    for (size_t i = 0; i < VISITS_MAX && cache->count > 0 && cache->bytes > cache->bytes_max; i++) {
        size_t at = cache->hand % cache->count;
        struct file_group *group = cache->groups[at];

        if (may_leave(group) && !group->is_used) {
            take_off(cache, at); /* another one is there now */
            continue;
        }
        group->is_used = false;
        cache->hand = at + 1;
    }
}

void storage_file_cache_put(struct file_cache *cache, struct file_group *group)
{
    if (group->bytes == 0) {
        cache->groups =
            weir_grow(cache->groups, cache->count, &cache->capacity, sizeof(struct file_group *));
        cache->groups[cache->count++] = group;
    }
    cache->bytes -= group->bytes;
    group->bytes = storage_file_group_bytes(group);
    cache->bytes += group->bytes;
}

enum weir_status storage_file_cache_get(struct file_cache *cache, uint32_t dataset,
                                        struct file_group *group, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(file_group) found = NULL;
    enum weir_status status;

    group->is_used = true;
    if (group->files != NULL)
        return WEIR_OK;
    status =
        DB_RUN(cache->db, Q_file_group_get, &rows, err, DB_I64(dataset), DB_I64(group->number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) != 1)
        return weir_fail(err, WEIR_CORRUPT, "file group %llu is missing",
                         (unsigned long long)group->number);
    status = storage_file_group_unpack(weir_rows_bytes(rows, 0, "entries"),
                                       (uint64_t)weir_rows_i64(rows, 0, "encoding"),
                                       (size_t)weir_rows_i64(rows, 0, "count"), &found, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "file group %llu", (unsigned long long)group->number);
    storage_file_group_fill(group, found);
    storage_file_cache_put(cache, group);
    return WEIR_OK;
}

enum weir_status storage_file_cache_write(struct file_cache *cache, uint32_t dataset,
                                          struct file_group *group, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    enum weir_status status;

    storage_file_group_pack(group, &packed);
    status =
        DB_RUN(cache->db, Q_file_group_put, NULL, err, DB_I64(dataset), DB_I64(group->number),
               DB_I64(group->first_file), DB_I64(group->count), DB_BYTES(weir_buf_view(&packed)));
    group->is_touched = group->is_ahead = false;
    storage_file_group_bound(group);
    storage_file_cache_put(cache, group);
    return status;
}
