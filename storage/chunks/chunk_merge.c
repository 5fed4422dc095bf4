/* One merge: see chunk_merge.h; what is merged says chunk_merge_policy.h. */
#include "storage/chunks/chunk_merge.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/added_runs.h"
#include "storage/chunks/chunk_merge_policy.h"
#include "storage/chunks/label_values.h"
#include "storage/sql/queries.h"

#include <string.h>

enum { COLUMNS = 5, REFS_PER_STEP = 65536 };

struct merge {
    struct weir_db *db;
    struct chunk_cache *cache;
    struct dataset *dataset;
    size_t first, end; /* of dataset->chunks */
    struct chunk_ref merged;
    int64_t *values;         /* all columns end to end */
    struct weir_buf vectors; /* of labels that are such */
};

/* ---- what to merge ---- */

static size_t end_of_block(const struct dataset *dataset, size_t first)
{
    size_t end = first;

    while (end < dataset->chunk_count && dataset->chunks[end].block == dataset->chunks[first].block)
        end++;
    return end;
}

static struct merge_span choose(const struct dataset *dataset, size_t first, size_t end)
{
    WEIR_AUTO_FREE uint32_t *rows = weir_calloc(end - first, sizeof(*rows));
    struct merge_span span;

    for (size_t i = first; i < end; i++)
        rows[i - first] = dataset->chunks[i].count;
    span = storage_chunk_merge_choose(
        rows, end - first, storage_values_rows(dataset->declaration, CHUNK_VALUES_BYTES));
    return (struct merge_span){.first = first + span.first, .end = first + span.end};
}

/* The next merge after the blocks that are known to need none. */
static struct merge_span look(struct dataset *dataset, bool *ret_more)
{
    size_t until = dataset->merged_up_to + REFS_PER_STEP;

    *ret_more = true;
    while (dataset->merged_up_to < until) {
        size_t first = dataset->merged_up_to;
        size_t end = end_of_block(dataset, first);
        struct merge_span span;

        if (first == dataset->chunk_count)
            break;
        span = choose(dataset, first, end);
        if (span.end > span.first)
            return span;
        if (end == dataset->chunk_count) /* it may grow still */
            break;
        dataset->merged_up_to = end;
    }
    *ret_more = dataset->merged_up_to == until;
    return (struct merge_span){0};
}

/* ---- the merge ---- */

static void measure(struct merge *merge)
{
    const struct chunk_ref *chunks = merge->dataset->chunks;

    merge->merged = chunks[merge->first];
    for (size_t i = merge->first + 1; i < merge->end; i++) {
        merge->merged.count += chunks[i].count;
        if (chunks[i].time_min < merge->merged.time_min)
            merge->merged.time_min = chunks[i].time_min;
        if (chunks[i].time_max > merge->merged.time_max)
            merge->merged.time_max = chunks[i].time_max;
    }
}

static enum weir_status load_columns(struct merge *merge, struct weir_error *err)
{
    size_t at = 0;
    enum weir_status status = WEIR_OK;

    for (size_t i = merge->first; status == WEIR_OK && i < merge->end; i++) {
        const struct chunk_ref *ref = &merge->dataset->chunks[i];
        const struct chunk *chunk;

        status = storage_chunk_cache_get(merge->cache, merge->db, merge->dataset, ref, &chunk, err);
        if (status == WEIR_OK) {
            const struct weir_column_view *const views[COLUMNS] = {
                &chunk->times, &chunk->labels, &chunk->files, &chunk->offsets, &chunk->lengths};

            for (size_t c = 0; c < COLUMNS; c++)
                weir_column_range(views[c], 0, ref->count,
                                  merge->values + c * merge->merged.count + at);
            weir_buf_append(&merge->vectors, chunk->values.at, chunk->values.size);
        }
        at += ref->count;
    }
    return status;
}

static enum weir_status remove_parts(const struct merge *merge, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(merge->db, Q_chunk_remove, &rows, err, DB_I64(merge->dataset->number),
               DB_I64(merge->merged.block), DB_I64(merge->merged.first_row),
               DB_I64(merge->merged.first_row + merge->merged.count));

    if (status == WEIR_OK && weir_rows_count(rows) != merge->end - merge->first)
        return weir_fail(err, WEIR_UNAVAILABLE, "dataset '%s' has moved on in Postgres",
                         merge->dataset->name);
    return status;
}

static enum weir_status insert_merged(const struct merge *merge, struct weir_error *err)
{
    const struct chunk_ref *merged = &merge->merged;
    const struct dataset *dataset = merge->dataset;
    size_t last_run = storage_dataset_run_of(
        dataset,
        ((uint64_t)merged->block << WEIR_ROW_BITS | merged->first_row) + merged->count - 1);
    WEIR_AUTO_BUF packed = {0};
    WEIR_AUTO_BUF runs = {0};
    size_t ends[COLUMNS + 1] = {0};
    struct weir_bytes columns[COLUMNS];

    for (size_t c = 0; c < COLUMNS; c++) {
        weir_column_pack(merge->values + c * merged->count, merged->count, &packed);
        ends[c + 1] = packed.size;
    }
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c] = weir_bytes(packed.at + ends[c], ends[c + 1] - ends[c]);
    storage_added_runs_pack(dataset, merged, &runs);
    return DB_RUN(merge->db, Q_chunk_add, NULL, err, DB_I64(dataset->number), DB_I64(merged->block),
                  DB_I64(merged->first_row), DB_I64(merged->count),
                  DB_I64(dataset->runs[last_run].sequence), DB_BYTES(weir_buf_view(&runs)),
                  DB_I64(merged->time_min), DB_I64(merged->time_max), DB_BYTES(columns[0]),
                  DB_BYTES(columns[1]), DB_BYTES(columns[2]), DB_BYTES(columns[3]),
                  DB_BYTES(columns[4]), DB_BYTES(weir_buf_view(&merge->vectors)));
}

static enum weir_status commit(const struct merge *merge, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(merge->db, err);

    if (status == WEIR_OK)
        status = remove_parts(merge, err);
    if (status == WEIR_OK)
        status = insert_merged(merge, err);
    if (status == WEIR_OK && weir_fault("storage.merge"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.merge");
    if (status == WEIR_OK)
        status = weir_db_commit(merge->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(merge->db);
    return status;
}

static void replace_refs(const struct merge *merge)
{
    struct dataset *dataset = merge->dataset;

    dataset->chunks[merge->first] = merge->merged;
    memmove(dataset->chunks + merge->first + 1, dataset->chunks + merge->end,
            (dataset->chunk_count - merge->end) * sizeof(*dataset->chunks));
    dataset->chunk_count -= merge->end - merge->first - 1;
}

enum weir_status storage_chunk_merge_step(struct weir_db *db, struct chunk_cache *cache,
                                          struct dataset *dataset, bool *ret_more,
                                          struct weir_error *err)
{
    struct merge_span span = look(dataset, ret_more);
    struct merge merge = {
        .db = db, .cache = cache, .dataset = dataset, .first = span.first, .end = span.end};
    enum weir_status status;

    if (span.first == span.end)
        return WEIR_OK;
    measure(&merge);
    WEIR_AUTO_FREE int64_t *values =
        weir_calloc((size_t)COLUMNS * merge.merged.count, sizeof(*values));
    merge.values = values;
    status = load_columns(&merge, err);
    if (status == WEIR_OK)
        status = commit(&merge, err);
    weir_buf_fini(&merge.vectors);
    if (status != WEIR_OK)
        return status;
    replace_refs(&merge);
    weir_log(WEIR_LOG_DEBUG, "chunks merged", "dataset=%s block=%u row=%u chunks=%zu rows=%u",
             dataset->name, merge.merged.block, merge.merged.first_row, span.end - span.first,
             merge.merged.count);
    return WEIR_OK;
}
