/* Runs of a chunk: see added_runs.h. */
#include "storage/catalog/added_runs.h"

#include "core/base/memory.h"
#include "core/wire/column.h"

enum { HEADER_BYTES = 8 };

static uint64_t row_of(const struct chunk_ref *chunk)
{
    return (uint64_t)chunk->block << WEIR_ROW_BITS | chunk->first_row;
}

void storage_added_runs_pack(const struct dataset *dataset, const struct chunk_ref *chunk,
                             struct weir_buf *out)
{
    uint64_t first_row = row_of(chunk);
    size_t first = storage_dataset_run_of(dataset, first_row);
    size_t end = first;
    WEIR_AUTO_FREE int64_t *values = NULL;
    size_t at = out->size;
    size_t count;

    while (end < dataset->run_count && dataset->runs[end].first_row < first_row + chunk->count)
        end++;
    count = end - first;
    if (count <= 1)
        return;
    values = weir_calloc(2 * count, sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        values[i] = (int64_t)(dataset->runs[first + i].first_row - first_row);
        values[count + i] = (int64_t)dataset->runs[first + i].sequence;
    }
    weir_buf_append(out, (uint8_t[HEADER_BYTES]){0}, HEADER_BYTES);
    weir_column_pack(values, count, out);
    weir_put_u32(out->at + at, (uint32_t)count);
    weir_put_u32(out->at + at + 4, (uint32_t)(out->size - at - HEADER_BYTES));
    weir_column_pack(values + count, count, out);
}

static enum weir_status fail_corrupt(const struct chunk_ref *chunk, struct weir_error *err)
{
    return weir_fail(err, WEIR_CORRUPT, "chunk %u:%u: its list of changes is damaged", chunk->block,
                     chunk->first_row);
}

static enum weir_status unpack_columns(const struct chunk_ref *chunk, struct weir_bytes packed,
                                       size_t count, int64_t *values, struct weir_error *err)
{
    size_t rows_bytes = weir_get_u32(packed.at + 4);
    enum weir_status status;

    if (rows_bytes > packed.size - HEADER_BYTES)
        return fail_corrupt(chunk, err);
    status =
        weir_column_unpack(weir_bytes(packed.at + HEADER_BYTES, rows_bytes), values, count, err);
    if (status != WEIR_OK)
        return status;
    return weir_column_unpack(
        weir_bytes(packed.at + HEADER_BYTES + rows_bytes, packed.size - HEADER_BYTES - rows_bytes),
        values + count, count, err);
}

enum weir_status storage_added_runs_unpack(struct dataset *dataset, const struct chunk_ref *chunk,
                                           uint64_t sequence, struct weir_bytes packed,
                                           struct weir_error *err)
{
    size_t count = packed.size > HEADER_BYTES ? weir_get_u32(packed.at) : 0;
    WEIR_AUTO_FREE int64_t *values = NULL;
    enum weir_status status;

    if (packed.size == 0) {
        storage_dataset_add_run(dataset, (struct added_run){row_of(chunk), sequence});
        return WEIR_OK;
    }
    if (count == 0 || count > chunk->count)
        return fail_corrupt(chunk, err);
    values = weir_calloc(2 * count, sizeof(*values));
    status = unpack_columns(chunk, packed, count, values, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        if ((uint64_t)values[i] >= chunk->count || (i > 0 && values[i] <= values[i - 1]))
            return fail_corrupt(chunk, err);
        storage_dataset_add_run(dataset, (struct added_run){row_of(chunk) + (uint64_t)values[i],
                                                            (uint64_t)values[count + i]});
    }
    return status;
}
