/* A snapshot: the ranges of ids that are live at a position, instead of all that ever happened. */
#include "storage/catalog/deaths.h"
#include "storage/feed/feed_state.h"
#include "storage/sql/queries.h"

#include "core/base/memory.h"

#include <string.h>

static void *grow(struct weir_arena *arena, const void *old, size_t count, size_t capacity,
                  size_t size)
{
    void *grown = weir_arena_alloc(arena, capacity * size);

    if (count > 0)
        memcpy(grown, old, count * size);
    return grown;
}

void storage_feed_rows_add(struct feed_rows *rows, const struct feed_row *row)
{
    if (rows->count == rows->capacity) {
        size_t capacity = 2 * rows->capacity + 64;

        rows->sequences = grow(rows->arena, rows->sequences, rows->count, capacity, 8);
        rows->firsts = grow(rows->arena, rows->firsts, rows->count, capacity, 8);
        rows->kinds = grow(rows->arena, rows->kinds, rows->count, capacity, 4);
        rows->counts = grow(rows->arena, rows->counts, rows->count, capacity, 4);
        rows->visible_us = grow(rows->arena, rows->visible_us, rows->count, capacity, 8);
        rows->capacity = capacity;
    }
    rows->sequences[rows->count] = row->sequence;
    rows->firsts[rows->count] = row->first;
    rows->kinds[rows->count] = row->kind;
    rows->visible_us[rows->count] = row->visible_us;
    rows->counts[rows->count++] = (uint32_t)row->count;
}

static void add_stretch(struct feed_rows *rows, uint64_t sequence, uint64_t first, uint64_t count)
{
    if (count > 0)
        storage_feed_rows_add(rows,
                              &(struct feed_row){sequence, WEIR_CHANGE_ADDED, first, count, 0});
}

/* The live stretches of the rows that one change added. */
static void add_live(const struct dataset *dataset, size_t run, const struct deaths *deaths,
                     struct feed_rows *rows)
{
    uint64_t sequence = dataset->runs[run].sequence;
    uint64_t end =
        run + 1 < dataset->run_count ? dataset->runs[run + 1].first_row : dataset->next_row;
    uint64_t first = 0, count = 0;

    for (uint64_t at = dataset->runs[run].first_row; at < end; at++) {
        uint32_t block = (uint32_t)(at >> WEIR_ROW_BITS);
        uint32_t row = (uint32_t)at & (WEIR_BLOCK_ROWS - 1);
        uint64_t id = weir_sample_id(dataset->number, block, row);

        if (!storage_dataset_is_dead(dataset, block, row) || storage_deaths_hold(deaths, id)) {
            first = count == 0 ? id : first;
            count++;
            continue;
        }
        add_stretch(rows, sequence, first, count);
        count = 0;
    }
    add_stretch(rows, sequence, first, count);
}

enum weir_status storage_feed_snapshot(struct store *store, const struct dataset *dataset,
                                       uint64_t after, uint64_t snapshot, struct feed_rows *rows,
                                       struct weir_error *err)
{
    struct deaths deaths = {0};
    size_t run = storage_dataset_run_after(dataset, after);
    enum weir_status status = storage_deaths_load(store->db, dataset, snapshot, &deaths, err);

    if (status != WEIR_OK)
        return status;
    rows->passed = snapshot;
    for (; run < dataset->run_count && dataset->runs[run].sequence <= snapshot; run++) {
        if (rows->count >= rows->limit) {
            rows->passed = dataset->runs[run].sequence - 1;
            break;
        }
        add_live(dataset, run, &deaths, rows);
    }
    storage_deaths_fini(&deaths);
    return WEIR_OK;
}

enum weir_status storage_feed_missed(struct store *store, const struct dataset *dataset,
                                     uint64_t after, uint64_t snapshot, uint64_t *ret_count,
                                     struct weir_error *err)
{
    size_t run = storage_dataset_run_after(dataset, after);
    uint64_t end = run < dataset->run_count ? dataset->runs[run].first_row : dataset->next_row;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_feed_erased_between, &rows, err,
                                     DB_I64(dataset->number), DB_I64(after), DB_I64(snapshot));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        uint64_t id = (uint64_t)weir_rows_i64(rows, i, "first");
        uint64_t count = (uint64_t)weir_rows_i64(rows, i, "count");
        uint64_t row = (uint64_t)weir_sample_block(id) << WEIR_ROW_BITS | weir_sample_row(id);

        if (row < end)
            *ret_count += count < end - row ? count : end - row;
    }
    return status;
}
