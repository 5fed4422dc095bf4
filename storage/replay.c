/* Replays: the samples of a dataset as of a fixed position, in (event time, id) order. The order is made
 * once per (dataset, position) and kept; only erasures change what is handed out. */
#include "storage/queries.h"
#include "storage/serve.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { REPLAYS_KEPT = 4, REPLAY_ROWS_MAX = 65536 };

struct replay_row {
    int64_t time;
    uint64_t id;
    int64_t label;
};

struct replay {
    uint32_t dataset; /* 0: the slot is free */
    uint64_t position;
    uint64_t used;
    struct replay_row *rows;
    size_t count, capacity;
};

struct replays {
    struct replay at[REPLAYS_KEPT];
    uint64_t clock; /* counts uses */
};

struct replays *storage_replays_new(void)
{
    return weir_calloc(1, sizeof(struct replays));
}

void storage_replays_free(struct replays *replays)
{
    for (size_t i = 0; replays && i < REPLAYS_KEPT; i++)
        free(replays->at[i].rows);
    free(replays);
}

/* Removed only after the position: a replay still sees it. */
static bool is_removed_later(const struct weir_rows *removed, uint64_t id)
{
    for (size_t i = 0; i < weir_rows_count(removed); i++) {
        if (id - (uint64_t)weir_rows_i64(removed, i, 0) < (uint64_t)weir_rows_i64(removed, i, 1))
            return true;
    }
    return false;
}

/* The first `count` rows of a chunk: the others were added later. */
static void add_rows(const struct dataset *dataset, const struct chunk *chunk, uint32_t count,
                     const struct weir_rows *removed, struct replay *replay)
{
    if (replay->count + count > replay->capacity) {
        replay->capacity = 2 * replay->capacity + count;
        replay->rows = weir_realloc(replay->rows, replay->capacity, sizeof *replay->rows);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = chunk->first_row + i;
        uint64_t id = weir_sample_id(dataset->number, chunk->block, row);

        if (storage_dataset_is_erased(dataset, chunk->block, row) ||
            (storage_dataset_is_dead(dataset, chunk->block, row) && !is_removed_later(removed, id)))
            continue;
        replay->rows[replay->count++] =
            (struct replay_row){.time = storage_column_at(&chunk->times, i),
                                .id = id,
                                .label = storage_column_at(&chunk->labels, i)};
    }
}

static int compare(const struct replay_row *x, int64_t time, uint64_t id)
{
    if (x->time != time)
        return x->time > time ? 1 : -1;
    return (x->id > id) - (x->id < id);
}

static int by_time(const void *a, const void *b)
{
    const struct replay_row *y = b;

    return compare(a, y->time, y->id);
}

static void sort(struct replay *replay)
{
    size_t i = 1;

    while (i < replay->count && by_time(&replay->rows[i - 1], &replay->rows[i]) < 0)
        i++;
    if (i < replay->count)
        qsort(replay->rows, replay->count, sizeof *replay->rows, by_time);
}

static enum weir_status build(struct storage *storage, const struct dataset *dataset,
                              struct replay *replay, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) removed = NULL;
    uint64_t end = storage_dataset_row_at(dataset, replay->position);
    enum weir_status status = DB_RUN(storage->db, Q_feed_removed_after, &removed, err,
                                     DB_I64(dataset->number), DB_I64(replay->position));

    for (size_t i = 0; status == WEIR_OK && i < dataset->chunk_count; i++) {
        const struct chunk_ref *ref = &dataset->chunks[i];
        uint64_t first = (uint64_t)ref->block << WEIR_ROW_BITS | ref->first_row;
        const struct chunk *chunk;

        if (first >= end)
            break;
        status = storage_chunk_cache_get(storage->cache, storage->db, dataset, ref, &chunk, err);
        if (status == WEIR_OK)
            add_rows(dataset, chunk,
                     end - first < ref->count ? (uint32_t)(end - first) : ref->count, removed,
                     replay);
    }
    if (status == WEIR_OK)
        sort(replay);
    return status;
}

static enum weir_status get(struct storage *storage, const struct dataset *dataset,
                            uint64_t position, struct replay **ret_replay, struct weir_error *err)
{
    struct replays *replays = storage->replays;
    struct replay *slot = &replays->at[0];
    enum weir_status status;

    for (size_t i = 0; i < REPLAYS_KEPT; i++) {
        struct replay *replay = &replays->at[i];

        if (replay->dataset == dataset->number && replay->position == position) {
            replay->used = ++replays->clock;
            *ret_replay = replay;
            return WEIR_OK;
        }
        if (replay->used < slot->used)
            slot = replay;
    }
    free(slot->rows);
    *slot = (struct replay){.position = position};
    status = build(storage, dataset, slot, err);
    if (status != WEIR_OK) {
        free(slot->rows);
        *slot = (struct replay){0};
        return status;
    }
    slot->dataset = dataset->number;
    slot->used = ++replays->clock;
    *ret_replay = slot;
    return WEIR_OK;
}

/* Index of the first row behind (time, id). */
static size_t behind(const struct replay *replay, int64_t time, uint64_t id)
{
    size_t low = 0, high = replay->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&replay->rows[middle], time, id) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill(const struct dataset *dataset, const struct replay *replay,
                 const struct msg_replay_read *asked, struct weir_arena *arena,
                 struct msg_replay_is *answer)
{
    size_t limit =
        asked->limit == 0 || asked->limit > REPLAY_ROWS_MAX ? REPLAY_ROWS_MAX : asked->limit;
    size_t at = behind(replay, asked->after_time, asked->after_id);
    uint64_t *ids = weir_arena_alloc(arena, limit * sizeof *ids);
    int64_t *times = weir_arena_alloc(arena, limit * sizeof *times);
    int64_t *labels = weir_arena_alloc(arena, limit * sizeof *labels);
    size_t count = 0;

    for (; at < replay->count && count < limit; at++) {
        const struct replay_row *row = &replay->rows[at];

        if (storage_dataset_is_erased(dataset, weir_sample_block(row->id),
                                      weir_sample_row(row->id)))
            continue;
        ids[count] = row->id;
        times[count] = row->time;
        labels[count++] = row->label;
    }
    answer->ids = (struct weir_u64s){ids, count};
    answer->times = (struct weir_i64s){times, count};
    answer->labels = (struct weir_i64s){labels, count};
    answer->end = at == replay->count;
}

enum weir_status storage_replay_read(struct storage *storage, const struct msg_replay_read *asked,
                                     struct weir_arena *arena, struct msg_replay_is *answer,
                                     struct weir_error *err)
{
    const struct dataset *dataset;
    struct replay *replay;
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    dataset = storage_catalog_at(storage->catalog, asked->dataset);
    if (!dataset)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %llu",
                         (unsigned long long)asked->dataset);
    status = get(storage, dataset, asked->position, &replay, err);
    if (status == WEIR_OK)
        fill(dataset, replay, asked, arena, answer);
    return status;
}
