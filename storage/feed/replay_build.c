/* Making the order of a replay, piece by piece: see replay.h. */
#include "storage/chunks/chunk_cache.h"
#include "storage/feed/replay_state.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/wire/column.h"

#include <stdlib.h>

enum { MERGE_ROWS_PER_STEP = 65536 };

/* 50 MB of pages, or 3 MB of rows to be sorted in one piece of 20 ms. */
static const struct order_limits LIMITS = {.run_rows = 131072, .fan_in = 1024};

static bool is_seen(const struct dataset *dataset, const struct replay *replay, uint32_t block,
                    uint32_t row)
{
    if (storage_dataset_is_erased(dataset, block, row))
        return false;
    return !storage_dataset_is_dead(dataset, block, row) ||
           storage_deaths_hold(&replay->deaths, weir_sample_id(dataset->number, block, row));
}

/* The rows of a chunk from `first` on that were added up to the position. */
static void take_rows(const struct dataset *dataset, const struct chunk *chunk,
                      struct replay *replay, struct replay_piece *piece)
{
    uint64_t base = (uint64_t)chunk->block << WEIR_ROW_BITS;
    uint64_t end = base + chunk->first_row + chunk->count;

    piece->count = 0;
    if (end > replay->end_row)
        end = replay->end_row;
    for (; piece->row < end && piece->count < piece->limit; piece->row++) {
        uint32_t row = (uint32_t)(piece->row - base), i = row - chunk->first_row;

        if (is_seen(dataset, replay, chunk->block, row))
            replay->rows[piece->count++] =
                (struct order_row){.time = weir_column_at(&chunk->times, i),
                                   .id = weir_sample_id(dataset->number, chunk->block, row),
                                   .label = weir_column_at(&chunk->labels, i)};
    }
}

/* Notes samples that die while the order is made, or after it was found to need no file. */
static enum weir_status refresh_deaths(struct store *store, const struct dataset *dataset,
                                       struct replay *replay, struct weir_error *err)
{
    if (replay->deaths_upto == dataset->sequence)
        return WEIR_OK;
    storage_deaths_fini(&replay->deaths);
    replay->deaths_upto = dataset->sequence;
    return storage_deaths_load(store->db, dataset, replay->position, &replay->deaths, err);
}

enum weir_status storage_replay_rows(struct store *store, const struct dataset *dataset,
                                     struct replay *replay, struct replay_piece *piece,
                                     struct weir_error *err)
{
    uint32_t block = (uint32_t)(piece->row >> WEIR_ROW_BITS);
    uint32_t row = (uint32_t)piece->row & (WEIR_BLOCK_ROWS - 1);
    const struct chunk_ref *ref = storage_dataset_chunk(dataset, block, row);
    const struct chunk *chunk;
    enum weir_status status;

    if (!ref)
        return weir_fail(err, WEIR_CORRUPT, "dataset '%s': no chunk holds row %u of block %u",
                         dataset->name, row, block);
    status = refresh_deaths(store, dataset, replay, err);
    if (status == WEIR_OK)
        status = storage_chunk_cache_get(store->cache, store->db, dataset, ref, &chunk, err);
    if (status == WEIR_OK)
        take_rows(dataset, chunk, replay, piece);
    return status;
}

enum weir_status storage_replay_open(const struct dataset *dataset, struct replay *replay,
                                     struct weir_error *err)
{
    enum weir_status status;

    replay->end_row = storage_dataset_row_at(dataset, replay->position);
    replay->inputs = (struct order_inputs){
        .dataset = dataset->number,
        .position = replay->position,
        .rows = replay->end_row,
        .erased = dataset->accounts.erased,
    };
    status = storage_order_open(replay->path, &replay->inputs, &replay->order, err);
    if (status == WEIR_OK) {
        replay->state = REPLAY_READY;
        return WEIR_OK;
    }
    if (status != WEIR_NOT_FOUND)
        weir_log(WEIR_LOG_INFO, "replay order is made again",
                 "dataset=%s position=%llu because=\"%s\"", dataset->name,
                 (unsigned long long)replay->position, err->text);
    if (replay->position < dataset->feed_floor)
        return weir_fail(err, WEIR_STALE,
                         "dataset '%s': changes after position %llu are no longer kept, so that "
                         "what was there is unknown: begin the replay again",
                         dataset->name, (unsigned long long)replay->position);
    replay->state = REPLAY_CHECKING;
    replay->last = (struct order_row){.time = INT64_MIN};
    replay->deaths_upto = UINT64_MAX;
    return WEIR_OK;
}

/* ---- pieces ---- */

static void add_mark(struct replay *replay, const struct order_row *row)
{
    replay->marks = weir_grow(replay->marks, replay->mark_count, &replay->mark_capacity,
                              sizeof(*replay->marks));
    replay->marks[replay->mark_count++] = *row;
}

/* Ids ascend as they come: it is the times that must not fall. */
static bool goes_on(struct replay *replay, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (replay->rows[i].time < replay->last.time)
            return false;
        replay->last = replay->rows[i];
    }
    return true;
}

/* The next samples, of one chunk at most. */
static enum weir_status next_rows(struct store *store, const struct dataset *dataset,
                                  struct replay *replay, size_t *ret_count, struct weir_error *err)
{
    struct replay_piece piece = {.row = replay->at_row, .limit = WEIR_BLOCK_ROWS};
    enum weir_status status = storage_replay_rows(store, dataset, replay, &piece, err);

    replay->at_row = piece.row;
    *ret_count = piece.count;
    return status;
}

static enum weir_status check(struct store *store, const struct dataset *dataset,
                              struct replay *replay, struct weir_error *err)
{
    size_t count = 0;
    enum weir_status status;

    if (replay->at_row >= replay->end_row) {
        replay->state = REPLAY_READY;
        return WEIR_OK;
    }
    status = next_rows(store, dataset, replay, &count, err);
    if (status != WEIR_OK || count == 0)
        return status;
    add_mark(replay, &replay->rows[0]);
    if (goes_on(replay, count))
        return WEIR_OK;
    replay->state = REPLAY_SORTING;
    replay->at_row = 0;
    replay->sort = storage_order_sort_new(replay->path, &LIMITS);
    return WEIR_OK;
}

static enum weir_status add(struct store *store, const struct dataset *dataset,
                            struct replay *replay, struct weir_error *err)
{
    size_t count = 0;
    enum weir_status status;

    if (replay->at_row >= replay->end_row) {
        replay->state = REPLAY_MERGING;
        return WEIR_OK;
    }
    status = next_rows(store, dataset, replay, &count, err);
    return status == WEIR_OK ? storage_order_sort_add(replay->sort, replay->rows, count, err)
                             : status;
}

static enum weir_status merge(struct store *store, const struct dataset *dataset,
                              struct replay *replay, struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status =
        storage_order_sort_step(replay->sort, &replay->inputs, MERGE_ROWS_PER_STEP, &is_done, err);

    (void)store;
    (void)dataset;
    if (status != WEIR_OK || !is_done)
        return status;
    storage_order_sort_free(replay->sort);
    replay->sort = NULL;
    status = storage_order_open(replay->path, &replay->inputs, &replay->order, err);
    if (status == WEIR_OK)
        replay->state = REPLAY_READY;
    return status;
}

enum weir_status storage_replay_make(struct store *store, const struct dataset *dataset,
                                     struct replay *replay, struct weir_error *err)
{
    static enum weir_status (*const PIECES[])(struct store *, const struct dataset *,
                                              struct replay *, struct weir_error *) = {
        [REPLAY_CHECKING] = check,
        [REPLAY_SORTING] = add,
        [REPLAY_MERGING] = merge,
    };

    return replay->state == REPLAY_READY ? WEIR_OK
                                         : PIECES[replay->state](store, dataset, replay, err);
}

double storage_replay_progress(const struct replay *replay)
{
    double read = replay->end_row > 0 ? (double)replay->at_row / (double)replay->end_row : 1;

    if (replay->state == REPLAY_READY)
        return 1;
    if (replay->state == REPLAY_CHECKING)
        return read / 10; /* it may yet have to be sorted */
    return 0.1 + 0.9 * (replay->state == REPLAY_SORTING
                            ? read / 2
                            : storage_order_sort_progress(replay->sort));
}
