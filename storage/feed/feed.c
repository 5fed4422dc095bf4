/* The change feed (C4): read by consumers with cursors of their own, kept until they have passed. Who comes
 * too late for a row reads what is live instead. */
#include "storage/feed/feed_state.h"
#include "storage/sql/queries.h"

#include <string.h>

static enum weir_status check(const struct store *store, const struct msg_feed_read *asked,
                              const struct dataset **ret_dataset, struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, asked->dataset);

    if (dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %llu",
                         (unsigned long long)asked->dataset);
    if (!*asked->consumer || strlen(asked->consumer) > CONSUMER_NAME_MAX)
        return weir_fail(err, WEIR_INVALID, "feed_read.consumer: expected 1 to %d characters",
                         CONSUMER_NAME_MAX);
    if (asked->after > dataset->sequence)
        return weir_fail(err, WEIR_INVALID,
                         "feed_read.after: %llu is beyond the newest change %llu",
                         (unsigned long long)asked->after, (unsigned long long)dataset->sequence);
    *ret_dataset = dataset;
    return WEIR_OK;
}

static enum weir_status read_rows(struct store *store, const struct dataset *dataset,
                                  uint64_t after, struct feed_rows *out, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_feed_read, &rows, err, DB_I64(dataset->number),
                                     DB_I64(after), DB_I64(out->limit));

    out->passed = after;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        out->passed = (uint64_t)weir_rows_i64(rows, i, "sequence");
        storage_feed_rows_add(
            out, &(struct feed_row){.sequence = out->passed,
                                    .kind = (enum weir_change_kind)weir_rows_i64(rows, i, "kind"),
                                    .first = (uint64_t)weir_rows_i64(rows, i, "first"),
                                    .count = (uint64_t)weir_rows_i64(rows, i, "count"),
                                    .visible_us = weir_rows_i64(rows, i, "visible_us")});
    }
    return status;
}

static void fill(const struct dataset *dataset, const struct feed_rows *rows,
                 struct msg_feed_is *answer)
{
    *answer = (struct msg_feed_is){
        .head = dataset->sequence,
        .sequences = {rows->sequences, rows->count},
        .kinds = {rows->kinds, rows->count},
        .firsts = {rows->firsts, rows->count},
        .counts = {rows->counts, rows->count},
        .passed = rows->passed,
        .visible_us = {rows->visible_us, rows->count},
    };
}

enum weir_status storage_feed_read(struct store *store, const struct msg_feed_read *asked,
                                   struct weir_arena *arena, struct msg_feed_is *answer,
                                   struct weir_error *err)
{
    bool is_bounded = asked->limit > 0 && asked->limit < FEED_ROWS_MAX;
    struct feed_rows rows = {.arena = arena, .limit = is_bounded ? asked->limit : FEED_ROWS_MAX};
    struct feed_consumer consumer;
    const struct dataset *dataset;
    enum weir_status status = storage_ready(store, err);

    if (status == WEIR_OK)
        status = check(store, asked, &dataset, err);
    if (status == WEIR_OK)
        status = storage_feed_register(store, dataset, asked, &consumer, err);
    if (status != WEIR_OK)
        return status;
    if (asked->after < consumer.snapshot)
        status = storage_feed_snapshot(store, dataset, asked->after, consumer.snapshot, &rows, err);
    else
        status = read_rows(store, dataset, asked->after, &rows, err);
    fill(dataset, &rows, answer);
    if (status == WEIR_OK && asked->snapshot && asked->after < consumer.snapshot)
        status = storage_feed_missed(store, dataset, asked->after, consumer.snapshot,
                                     &answer->erased, err);
    return status;
}
