/* The change feed (C4): read by consumers with cursors of their own, kept until they have passed. */
#include "storage/queries.h"
#include "storage/serve.h"

#include "core/base/memory.h"

#include <string.h>

enum { FEED_ROWS_MAX = 4096, CONSUMER_NAME_MAX = 200 };

static void fill(const struct weir_rows *rows, struct weir_arena *arena, struct msg_feed_is *answer)
{
    size_t count = weir_rows_count(rows);
    uint64_t *sequences = weir_arena_alloc(arena, count * sizeof *sequences + 1);
    uint32_t *kinds = weir_arena_alloc(arena, count * sizeof *kinds + 1);
    uint64_t *firsts = weir_arena_alloc(arena, count * sizeof *firsts + 1);
    uint32_t *counts = weir_arena_alloc(arena, count * sizeof *counts + 1);

    for (size_t i = 0; i < count; i++) {
        sequences[i] = (uint64_t)weir_rows_i64(rows, i, 0);
        kinds[i] = (uint32_t)weir_rows_i64(rows, i, 1);
        firsts[i] = (uint64_t)weir_rows_i64(rows, i, 2);
        counts[i] = (uint32_t)weir_rows_i64(rows, i, 3);
    }
    answer->sequences = (struct weir_u64s){sequences, count};
    answer->kinds = (struct weir_u32s){kinds, count};
    answer->firsts = (struct weir_u64s){firsts, count};
    answer->counts = (struct weir_u32s){counts, count};
}

enum weir_status storage_feed_read(struct storage *storage, const struct msg_feed_read *asked,
                                   struct weir_arena *arena, struct msg_feed_is *answer,
                                   struct weir_error *err)
{
    uint32_t limit =
        asked->limit == 0 || asked->limit > FEED_ROWS_MAX ? FEED_ROWS_MAX : asked->limit;
    const struct dataset *dataset;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    dataset = storage_catalog_at(storage->catalog, asked->dataset);
    if (!dataset)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %llu",
                         (unsigned long long)asked->dataset);
    if (!*asked->consumer || strlen(asked->consumer) > CONSUMER_NAME_MAX)
        return weir_fail(err, WEIR_INVALID, "feed_read.consumer: expected 1 to %d characters",
                         CONSUMER_NAME_MAX);
    if (asked->after > dataset->sequence)
        return weir_fail(err, WEIR_INVALID,
                         "feed_read.after: %llu is beyond the newest change %llu",
                         (unsigned long long)asked->after, (unsigned long long)dataset->sequence);
    status = DB_RUN(storage->db, Q_consumer_pass, NULL, err, DB_I64(dataset->number),
                    DB_TEXT(asked->consumer), DB_I64(asked->after));
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_feed_read, &rows, err, DB_I64(dataset->number),
                        DB_I64(asked->after), DB_I64(limit), DB_I64(dataset->feed_floor));
    if (status != WEIR_OK)
        return status;
    answer->head = dataset->sequence;
    fill(rows, arena, answer);
    return WEIR_OK;
}

static enum weir_status forget_passed(struct storage *storage, struct dataset *dataset,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t passed;
    enum weir_status status =
        DB_RUN(storage->db, Q_feed_passed, &rows, err, DB_I64(dataset->number));

    if (status != WEIR_OK || weir_rows_is_null(rows, 0, 0))
        return status;
    passed = (uint64_t)weir_rows_i64(rows, 0, 0);
    if (passed <= dataset->feed_floor)
        return WEIR_OK;
    status = weir_db_begin(storage->db, err);
    if (status == WEIR_OK)
        status =
            DB_RUN(storage->db, Q_feed_forget, NULL, err, DB_I64(dataset->number), DB_I64(passed));
    if (status == WEIR_OK)
        status =
            DB_RUN(storage->db, Q_feed_floor, NULL, err, DB_I64(dataset->number), DB_I64(passed));
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status == WEIR_OK) {
        dataset->feed_floor = passed;
        return WEIR_OK;
    }
    weir_db_rollback(storage->db);
    storage_doubt(storage);
    return status;
}

enum weir_status storage_feed_forget(struct storage *storage, struct weir_error *err)
{
    enum weir_status status = storage_ready(storage, err);

    for (size_t i = 0; status == WEIR_OK && i < storage->catalog->count; i++)
        status = forget_passed(storage, storage->catalog->datasets[i], err);
    return status;
}
