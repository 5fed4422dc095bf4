/* Time and label of a range of ids; what is dead is left out. */
#include "storage/chunks/chunk_cache.h"
#include "storage/chunks/held_out.h"
#include "storage/chunks/label_values.h"
#include "storage/reading/serve.h"

#include "core/base/memory.h"
#include "core/wire/column.h"

#include <string.h>

struct columns {
    uint64_t *ids;
    int64_t *times, *labels;
    size_t count;
    uint8_t *values; /* of labels that are vectors, when they are asked for, … */
    size_t row_bytes;
};

static void add_rows(const struct dataset *dataset, const struct chunk *chunk, uint32_t from,
                     uint32_t to, struct columns *columns)
{
    for (uint32_t row = from; row < to; row++) {
        uint32_t i = row - chunk->first_row;

        if (storage_dataset_is_dead(dataset, chunk->block, row))
            continue;
        columns->ids[columns->count] = weir_sample_id(dataset->number, chunk->block, row);
        columns->times[columns->count] = weir_column_at(&chunk->times, i);
        columns->labels[columns->count] = weir_column_at(&chunk->labels, i);
        if (columns->row_bytes > 0)
            memcpy(columns->values + columns->count * columns->row_bytes,
                   storage_values_at(chunk->values, columns->row_bytes, i).at, columns->row_bytes);
        columns->count++;
    }
}

static enum weir_status tell_held_out(struct store *store, uint64_t dataset, uint32_t block,
                                      struct weir_arena *arena, struct weir_bytes *ret_rows,
                                      struct weir_error *err)
{
    struct weir_bits rows = {0};
    WEIR_AUTO_BUF packed = {0};
    enum weir_status status = storage_held_out_read(store->db, dataset, block, &rows, err);

    weir_bits_pack(&rows, &packed);
    weir_bits_fini(&rows);
    *ret_rows = weir_bytes(NULL, 0);
    if (packed.size > 0)
        *ret_rows = weir_bytes(weir_arena_copy(arena, packed.at, packed.size), packed.size);
    return status;
}

static enum weir_status check(const struct msg_columns_read *asked, const struct dataset *dataset,
                              size_t row_bytes, struct weir_error *err)
{
    uint32_t row = weir_sample_row(asked->first);

    if (asked->count > WEIR_BLOCK_ROWS - row)
        return weir_fail(err, WEIR_INVALID,
                         "columns_read.count: found %u from row %u on, expected at most %u: a "
                         "block has no more",
                         asked->count, row, WEIR_BLOCK_ROWS - row);
    if (asked->count * row_bytes > ANSWER_VALUES_BYTES)
        return weir_fail(
            err, WEIR_LIMIT, "columns_read.count: found %u with values, expected at most %u",
            asked->count, storage_values_rows(dataset->declaration, ANSWER_VALUES_BYTES));
    return WEIR_OK;
}

/* Reads the rows of a range that lies in one block, as far as there are any. */
static enum weir_status read_rows(struct store *store, const struct dataset *dataset,
                                  const struct msg_columns_read *asked, struct columns *columns,
                                  struct weir_error *err)
{
    uint32_t block = weir_sample_block(asked->first), row = weir_sample_row(asked->first);
    uint32_t end = row + asked->count;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && row < end) {
        const struct chunk_ref *ref = storage_dataset_chunk(dataset, block, row);
        const struct chunk *chunk;
        uint32_t to;

        if (ref == NULL) /* rows of a block are given out from the first: nothing follows */
            break;
        to = ref->first_row + ref->count < end ? ref->first_row + ref->count : end;
        status = storage_chunk_cache_get(store->cache, store->db, dataset, ref, &chunk, err);
        if (status == WEIR_OK)
            add_rows(dataset, chunk, row, to, columns);
        row = to;
    }
    return status;
}

enum weir_status storage_columns_read(struct store *store, const struct msg_columns_read *asked,
                                      struct weir_arena *arena, struct msg_columns_is *answer,
                                      struct weir_error *err)
{
    const struct dataset *dataset;
    struct columns columns = {0};
    enum weir_status status = storage_ready(store, err);

    if (status != WEIR_OK)
        return status;
    dataset = storage_catalog_at(store->catalog, weir_sample_dataset(asked->first));
    if (dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %u", weir_sample_dataset(asked->first));
    if (asked->values)
        columns.row_bytes = storage_declaration_value_bytes(dataset->declaration);
    status = check(asked, dataset, columns.row_bytes, err);
    if (status != WEIR_OK)
        return status;
    columns.values = weir_arena_alloc(arena, asked->count * columns.row_bytes + 1);
    columns.ids = weir_arena_alloc(arena, asked->count * sizeof(*columns.ids) + 1);
    columns.times = weir_arena_alloc(arena, asked->count * sizeof(*columns.times) + 1);
    columns.labels = weir_arena_alloc(arena, asked->count * sizeof(*columns.labels) + 1);
    status = read_rows(store, dataset, asked, &columns, err);
    if (status == WEIR_OK && dataset->declaration->held_share > 0)
        status = tell_held_out(store, dataset->number, weir_sample_block(asked->first), arena,
                               &answer->held_out, err);
    answer->ids = (struct weir_u64s){columns.ids, columns.count};
    answer->times = (struct weir_i64s){columns.times, columns.count};
    answer->labels = (struct weir_i64s){columns.labels, columns.count};
    answer->label_width = dataset->declaration->label_width;
    answer->value_type = dataset->declaration->value_type;
    answer->label_values = weir_bytes(columns.values, columns.count * columns.row_bytes);
    return status;
}
