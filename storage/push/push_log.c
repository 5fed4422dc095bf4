/* Answers to pushed batches, in Postgres: see push_batch.h. */
#include "storage/push/push_batch.h"

#include "storage/sql/queries.h"

#include <string.h>

static void take_mark(struct push_answer *answer, struct weir_bytes mark)
{
    answer->mark_size = mark.size < PUSH_MARK_MAX ? mark.size : PUSH_MARK_MAX;
    if (answer->mark_size > 0)
        memcpy(answer->mark, mark.at, answer->mark_size);
}

enum weir_status storage_push_log_newest(struct weir_db *db, uint32_t dataset, const char *client,
                                         struct push_answer *ret_answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_push_newest, &rows, err, DB_I64(dataset), DB_TEXT(client));

    if (status != WEIR_OK)
        return status;
    *ret_answer = (struct push_answer){.number = 0};
    if (weir_rows_count(rows) == 0)
        return WEIR_OK;
    ret_answer->number = (uint64_t)weir_rows_i64(rows, 0, "batch");
    take_mark(ret_answer, weir_rows_bytes(rows, 0, "mark"));
    return WEIR_OK;
}

enum weir_status storage_push_log_find(struct weir_db *db, uint32_t dataset, const char *client,
                                       struct push_answer *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_push_find, &rows, err, DB_I64(dataset), DB_TEXT(client),
                                     DB_I64(answer->number));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_STALE,
                         "batch %llu of client '%s' was answered before, and more than %d batches "
                         "followed: its answer is no longer kept",
                         (unsigned long long)answer->number, client, PUSH_ANSWERS_KEPT);
    if ((uint64_t)weir_rows_i64(rows, 0, "digest") != answer->digest)
        return weir_fail(err, WEIR_INVALID,
                         "batch %llu of client '%s' was pushed before with other samples: number "
                         "batches from 1, and give every input its own client",
                         (unsigned long long)answer->number, client);
    take_mark(answer, weir_rows_bytes(rows, 0, "mark"));
    answer->first = (uint64_t)weir_rows_i64(rows, 0, "first");
    answer->samples = (uint64_t)weir_rows_i64(rows, 0, "samples");
    answer->refused = (uint64_t)weir_rows_i64(rows, 0, "refused");
    answer->left_out = (uint64_t)weir_rows_i64(rows, 0, "left_out");
    weir_buf_append_text(&answer->reasons, weir_rows_text(rows, 0, "reasons"));
    return WEIR_OK;
}

enum weir_status storage_push_log_add(struct weir_db *db, const struct push_batch *batch,
                                      struct weir_error *err)
{
    const struct push_answer *answer = &batch->answer;
    WEIR_AUTO_BUF reasons = {0};

    weir_buf_append(&reasons, answer->reasons.at, answer->reasons.size);
    return DB_RUN(db, Q_push_add, NULL, err, DB_I64(batch->dataset), DB_TEXT(batch->client),
                  DB_I64(answer->number), DB_I64(answer->digest),
                  DB_BYTES(weir_bytes(answer->mark, answer->mark_size)), DB_I64(answer->first),
                  DB_I64(answer->samples), DB_I64(answer->refused), DB_I64(answer->left_out),
                  DB_TEXT(weir_buf_text(&reasons)));
}

enum weir_status storage_push_forget(struct store *store, struct weir_error *err)
{
    return DB_RUN(store->db, Q_push_forget, NULL, err, DB_I64(PUSH_ANSWERS_KEPT),
                  DB_I64(store->lived.us - PUSH_ANSWERS_KEPT_S * INT64_C(1000000)));
}
