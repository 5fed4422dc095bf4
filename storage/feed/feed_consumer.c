/* The consumers of the feed, their positions, and the changes that may be forgotten. */
#include "storage/feed/feed_state.h"
#include "storage/sql/queries.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#define HOUR_US (INT64_C(3600) * 1000000)
#define DAY_US  (24 * HOUR_US)

static enum weir_status find(struct store *store, const struct dataset *dataset, const char *name,
                             struct feed_consumer *ret_consumer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_consumer_find, &rows, err, DB_I64(dataset->number), DB_TEXT(name));

    *ret_consumer = (struct feed_consumer){0};
    if (status == WEIR_OK && weir_rows_count(rows) == 1)
        *ret_consumer = (struct feed_consumer){
            .is_known = true,
            .passed = (uint64_t)weir_rows_i64(rows, 0, "passed"),
            .snapshot = (uint64_t)weir_rows_i64(rows, 0, "snapshot"),
            .seen_us = weir_rows_i64(rows, 0, "seen_us"),
        };
    return status;
}

static enum weir_status put(struct store *store, const struct dataset *dataset, const char *name,
                            const struct feed_consumer *consumer, struct weir_error *err)
{
    return DB_RUN(store->db, Q_consumer_put, NULL, err, DB_I64(dataset->number), DB_TEXT(name),
                  DB_I64(consumer->passed), DB_I64(consumer->snapshot), DB_I64(consumer->seen_us));
}

/* A snapshot begins with a newcomer, and with one that was away for too long; not in the middle of one. */
static bool begins_snapshot(const struct dataset *dataset, const struct msg_feed_read *asked,
                            const struct feed_consumer *consumer)
{
    if (!asked->snapshot || asked->after == dataset->sequence ||
        (consumer->is_known && asked->after < consumer->snapshot))
        return false;
    return asked->after == 0 || asked->after < dataset->feed_floor;
}

enum weir_status storage_feed_register(struct store *store, const struct dataset *dataset,
                                       const struct msg_feed_read *asked,
                                       struct feed_consumer *ret_consumer, struct weir_error *err)
{
    int64_t now_us = store->lived.us;
    struct feed_consumer consumer;
    bool must_write, is_behind;
    enum weir_status status = find(store, dataset, asked->consumer, &consumer, err);

    if (status != WEIR_OK)
        return status;
    must_write =
        !consumer.is_known || consumer.passed < asked->after || consumer.seen_us < now_us - HOUR_US;
    if (begins_snapshot(dataset, asked, &consumer)) {
        consumer.snapshot = dataset->sequence;
        consumer.passed = asked->after;
        must_write = true;
    }
    is_behind = asked->after >= consumer.snapshot && asked->after < dataset->feed_floor;
    if (is_behind)
        return weir_fail(
            err, WEIR_STALE,
            "consumer '%s' has passed change %llu of dataset '%s', and what follows up "
            "to %llu is not kept any more: start from a snapshot",
            asked->consumer, (unsigned long long)asked->after, dataset->name,
            (unsigned long long)dataset->feed_floor);
    consumer.passed = consumer.passed > asked->after ? consumer.passed : asked->after;
    consumer.seen_us = now_us;
    *ret_consumer = consumer;
    return must_write ? put(store, dataset, asked->consumer, &consumer, err) : WEIR_OK;
}

enum weir_status storage_feed_keep(struct store *store, const struct dataset *dataset,
                                   uint64_t position, struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("replay/%llu", (unsigned long long)position);
    const struct feed_consumer consumer = {
        .passed = position, .snapshot = position, .seen_us = store->lived.us};

    return put(store, dataset, name, &consumer, err);
}

/* ---- for people ---- */

static enum weir_status find_dataset(const struct store *store, const char *name,
                                     const struct dataset **ret_dataset, struct weir_error *err)
{
    *ret_dataset = storage_catalog_find(store->catalog, name);
    return *ret_dataset != NULL ? WEIR_OK
                                : weir_fail(err, WEIR_NOT_FOUND,
                                            "no dataset '%.80s': `weir datasets` lists them", name);
}

enum weir_status storage_feed_end(struct store *store, const struct msg_feed_end *asked,
                                  struct msg_feed_ended *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const struct dataset *dataset = NULL;
    enum weir_status status = storage_ready(store, err);

    if (status == WEIR_OK && *asked->dataset)
        status = find_dataset(store, asked->dataset, &dataset, err);
    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_consumer_drop, &rows, err, DB_TEXT(asked->consumer),
                        DB_I64(dataset != NULL ? dataset->number : 0));
    if (status == WEIR_OK)
        answer->consumers = weir_rows_count(rows);
    return status;
}

/* Shown to people by the wall clock; `ahead_us` is how far it is ahead of the one that consumers are kept by. */
static void fill_readers(const struct weir_rows *rows, int64_t ahead_us, struct weir_arena *arena,
                         struct msg_feed_readers *answer)
{
    size_t count = weir_rows_count(rows);
    const char **names = weir_arena_alloc(arena, (count + 1) * sizeof(*names));
    uint64_t *passed = weir_arena_alloc(arena, (count + 1) * sizeof(*passed));
    int64_t *seen_us = weir_arena_alloc(arena, (count + 1) * sizeof(*seen_us));
    int64_t *expires_us = weir_arena_alloc(arena, (count + 1) * sizeof(*expires_us));
    int64_t *waiting_us = weir_arena_alloc(arena, (count + 1) * sizeof(*waiting_us));

    for (size_t i = 0; i < count; i++) {
        names[i] = weir_arena_format(arena, "%s", weir_rows_text(rows, i, "name"));
        passed[i] = (uint64_t)weir_rows_i64(rows, i, "passed");
        seen_us[i] = weir_rows_i64(rows, i, "seen_us") + ahead_us;
        expires_us[i] = seen_us[i] + CONSUMER_DAYS_MAX * DAY_US;
        waiting_us[i] = weir_rows_i64(rows, i, "waiting_us");
    }
    answer->consumers = (struct weir_strs){names, count};
    answer->passed = (struct weir_u64s){passed, count};
    answer->seen_us = (struct weir_i64s){seen_us, count};
    answer->expires_us = (struct weir_i64s){expires_us, count};
    answer->waiting_us = (struct weir_i64s){waiting_us, count};
}

enum weir_status storage_feed_describe(struct store *store, const struct msg_feed_request *asked,
                                       struct weir_arena *arena, struct msg_feed_readers *answer,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const struct dataset *dataset;
    enum weir_status status = storage_ready(store, err);

    if (status == WEIR_OK)
        status = find_dataset(store, asked->dataset, &dataset, err);
    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_consumers, &rows, err, DB_I64(dataset->number));
    if (status != WEIR_OK)
        return status;
    answer->head = dataset->sequence;
    answer->floor = dataset->feed_floor;
    fill_readers(rows, weir_now_wall_us() - store->lived.us, arena, answer);
    return WEIR_OK;
}

/* ---- forgetting ---- */

/* Drops those who are away for good, so that they do not keep the feed for ever. */
static enum weir_status expire(struct store *store, const struct dataset *dataset,
                               struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_consumer_expire, &rows, err, DB_I64(dataset->number),
               DB_I64(store->lived.us - CONSUMER_DAYS_MAX * DAY_US));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        weir_log(WEIR_LOG_INFO, "consumer of the feed expired", "dataset=%s consumer=%s",
                 dataset->name, weir_rows_text(rows, i, "name"));
    return status;
}

static enum weir_status drop_rows(struct store *store, const struct dataset *dataset,
                                  uint64_t passed, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK)
        status =
            DB_RUN(store->db, Q_feed_forget, NULL, err, DB_I64(dataset->number), DB_I64(passed));
    if (status == WEIR_OK)
        status =
            DB_RUN(store->db, Q_feed_floor, NULL, err, DB_I64(dataset->number), DB_I64(passed));
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status == WEIR_OK)
        return WEIR_OK;
    weir_db_rollback(store->db);
    storage_doubt(store);
    return status;
}

static enum weir_status forget_passed(struct store *store, struct dataset *dataset,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t passed;
    enum weir_status status = expire(store, dataset, err);

    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_feed_passed, &rows, err, DB_I64(dataset->number));
    if (status != WEIR_OK || weir_rows_is_null(rows, 0, "passed"))
        return status;
    passed = (uint64_t)weir_rows_i64(rows, 0, "passed");
    if (passed <= dataset->feed_floor)
        return WEIR_OK;
    status = drop_rows(store, dataset, passed, err);
    if (status == WEIR_OK)
        dataset->feed_floor = passed;
    return status;
}

enum weir_status storage_feed_forget(struct store *store, struct weir_error *err)
{
    enum weir_status status = storage_ready(store, err);

    for (size_t i = 0; status == WEIR_OK && i < store->catalog->count; i++)
        status = forget_passed(store, store->catalog->datasets[i], err);
    return status;
}
