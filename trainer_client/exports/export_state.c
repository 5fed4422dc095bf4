/* Complete shards of an export as bytes, all numbers u64 but for names:
 *
 *     rows | shards: count, rows and bytes of each | columns: count, of each the size of its name, the name, type,
 *     ragged, rank, shape, elements */
#include "core/base/memory.h"
#include "trainer_client/exports/export.h"

#include <string.h>

static void save_column(const struct export_column *column, struct weir_buf *out)
{
    weir_buf_append_u64(out, strlen(column->name));
    weir_buf_append(out, column->name, strlen(column->name));
    weir_buf_append_u64(out, column->type);
    weir_buf_append_u64(out, column->is_ragged);
    weir_buf_append_u64(out, column->rank);
    for (uint32_t i = 0; i < column->rank; i++)
        weir_buf_append_u64(out, column->shape[i]);
    weir_buf_append_u64(out, column->elements);
}

void trainer_export_save(const struct export *export, struct weir_buf *out)
{
    weir_require(export->pending_rows == 0);
    weir_buf_append_u64(out, export->rows);
    weir_buf_append_u64(out, export->shard_count);
    for (size_t i = 0; i < export->shard_count; i++) {
        weir_buf_append_u64(out, export->shards[i].rows);
        weir_buf_append_u64(out, export->shards[i].bytes);
    }
    weir_buf_append_u64(out, export->column_count);
    for (size_t i = 0; i < export->column_count; i++)
        save_column(&export->columns[i], out);
}

/* False when there is none, or it is beyond `max`. */
static bool take_up_to(struct weir_bytes *rest, uint64_t max, uint64_t *ret_value)
{
    return weir_take_u64(rest, ret_value) && *ret_value <= max;
}

static bool load_shards(struct export *export, struct weir_bytes *rest)
{
    uint64_t count = 0;

    if (!take_up_to(rest, EXPORT_SHARDS_MAX, &count) || count > rest->size / 16)
        return false;
    export->shards = weir_calloc(count + 1, sizeof(*export->shards));
    export->shard_count = count;
    export->shard_capacity = count + 1;
    bool is_whole = true;
    for (size_t i = 0; i < count && is_whole; i++)
        is_whole = weir_take_u64(rest, &export->shards[i].rows) &&
                   weir_take_u64(rest, &export->shards[i].bytes);
    return is_whole;
}

static bool load_column(struct export_column *column, struct weir_bytes *rest)
{
    uint64_t size = 0, type = 0, is_ragged = 0, rank = 0;
    struct weir_bytes name;

    if (!take_up_to(rest, EXPORT_NAME_MAX, &size) || !weir_take(rest, size, &name) ||
        !take_up_to(rest, WEIR_TENSOR_U32, &type) || type == 0 ||
        !take_up_to(rest, 1, &is_ragged) || !take_up_to(rest, WEIR_TENSOR_RANK_MAX, &rank))
        return false;
    memcpy(column->name, name.at, size);
    column->type = (enum weir_tensor_type)type;
    column->is_ragged = is_ragged != 0;
    column->rank = (uint32_t)rank;
    bool is_whole = true;
    for (uint32_t i = 0; i < rank && is_whole; i++)
        is_whole = weir_take_u64(rest, &column->shape[i]);
    return is_whole && weir_take_u64(rest, &column->elements);
}

enum weir_status trainer_export_load(struct export *export, struct weir_bytes bytes,
                                     struct weir_error *err)
{
    struct weir_bytes rest = bytes;
    uint64_t count = 0;
    bool is_whole = weir_take_u64(&rest, &export->rows) && load_shards(export, &rest) &&
                    take_up_to(&rest, EXPORT_COLUMNS_MAX, &count);

    for (size_t i = 0; i < count && is_whole; i++)
        is_whole = load_column(&export->columns[i], &rest);
    export->column_count = count;
    return is_whole && rest.size == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_CORRUPT, "found no state of an export in %zu bytes",
                           bytes.size);
}
