/* A hand goes round over groups, and spares once what was used since it last passed: see file_shelf.h. */
#include "storage/catalog/file_shelf.h"

#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum { VISITS_MAX = 256 }; /* at a time: most may be held */

void storage_file_shelf_fini(struct file_shelf *shelf)
{
    free(shelf->groups);
    *shelf = (struct file_shelf){0};
}

static bool may_leave(const struct file_group *group)
{
    return group->pins == 0 && !group->is_touched && !group->is_ahead && !group->is_taking;
}

static void take_off(struct file_shelf *shelf, size_t i)
{
    struct file_group *group = shelf->groups[i];

    shelf->bytes -= group->bytes;
    shelf->groups[i] = shelf->groups[--shelf->count];
    group->bytes = 0;
    storage_file_group_empty(group);
}

void storage_file_shelf_trim(struct file_shelf *shelf)
{
    for (size_t i = 0; i < VISITS_MAX && shelf->count > 0 && shelf->bytes > shelf->bytes_max; i++) {
        size_t at = shelf->hand % shelf->count;
        struct file_group *group = shelf->groups[at];

        if (may_leave(group) && !group->is_used) {
            take_off(shelf, at); /* another one is there now */
            continue;
        }
        group->is_used = false;
        shelf->hand = at + 1;
    }
}

void storage_file_shelf_put(struct file_shelf *shelf, struct file_group *group)
{
    if (group->bytes == 0) {
        shelf->groups =
            weir_grow(shelf->groups, shelf->count, &shelf->capacity, sizeof(struct file_group *));
        shelf->groups[shelf->count++] = group;
    }
    shelf->bytes -= group->bytes;
    group->bytes = storage_file_group_bytes(group);
    shelf->bytes += group->bytes;
}

enum weir_status storage_file_shelf_get(struct file_shelf *shelf, uint32_t dataset,
                                        struct file_group *group, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(file_group) found = NULL;
    enum weir_status status;

    group->is_used = true;
    if (group->files)
        return WEIR_OK;
    status =
        DB_RUN(shelf->db, Q_file_group_get, &rows, err, DB_I64(dataset), DB_I64(group->number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) != 1)
        return weir_fail(err, WEIR_CORRUPT, "file group %llu is missing",
                         (unsigned long long)group->number);
    status =
        storage_file_group_unpack(weir_rows_bytes(rows, 0, 1), (uint64_t)weir_rows_i64(rows, 0, 2),
                                  (size_t)weir_rows_i64(rows, 0, 0), &found, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "file group %llu", (unsigned long long)group->number);
    storage_file_group_fill(group, found);
    storage_file_shelf_put(shelf, group);
    return WEIR_OK;
}

enum weir_status storage_file_shelf_write(struct file_shelf *shelf, uint32_t dataset,
                                          struct file_group *group, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    enum weir_status status;

    storage_file_group_pack(group, &packed);
    status =
        DB_RUN(shelf->db, Q_file_group_put, NULL, err, DB_I64(dataset), DB_I64(group->number),
               DB_I64(group->first_file), DB_I64(group->count), DB_BYTES(weir_buf_view(&packed)));
    group->is_touched = group->is_ahead = false;
    storage_file_group_bound(group);
    storage_file_shelf_put(shelf, group);
    return status;
}
