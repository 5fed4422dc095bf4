/* The parts of the feed, between feed.c (answers), feed_consumer.c (its readers) and feed_snapshot.c (ranges that a
 * newcomer reads instead of the past). */
#ifndef WEIR_STORAGE_FEED_STATE_H
#define WEIR_STORAGE_FEED_STATE_H

#include "storage/feed/feed.h"
#include "storage/reading/serve.h"

enum {
    FEED_ROWS_MAX = 4096,
    CONSUMER_NAME_MAX = 200,
    CONSUMER_DAYS_MAX = 30, /* one that has not read for so long no longer keeps anything */
};

/* The position of a consumer. */
struct feed_consumer {
    bool is_known;
    uint64_t passed;
    uint64_t snapshot; /* up to here it reads ranges that were live there */
    int64_t seen_us;
};

/* Registers what a read says, with as few writes as can be: a consumer that only looks again writes once
 * an hour. *ret_consumer is how it stands now. */
enum weir_status storage_feed_register(struct store *store, const struct dataset *dataset,
                                       const struct msg_feed_read *asked,
                                       struct feed_consumer *ret_consumer,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Keeps what lies after `position` for a replay, as a consumer of that name would. */
enum weir_status storage_feed_keep(struct store *store, const struct dataset *dataset,
                                   uint64_t position, struct weir_error *err) WEIR_MUST_USE;

/* Rows of the answer, each column in the arena. */
struct feed_rows {
    struct weir_arena *arena;
    size_t limit;    /* so many are wanted */
    uint64_t passed; /* everything up to here is reported */
    uint64_t *sequences, *firsts;
    uint32_t *kinds, *counts;
    int64_t *visible_us;
    size_t count, capacity;
};
struct feed_row {
    uint64_t sequence;
    enum weir_change_kind kind;
    uint64_t first, count;
    int64_t visible_us; /* 0: not known */
};
void storage_feed_rows_add(struct feed_rows *rows, const struct feed_row *row);

/* The ranges that were live as of `snapshot` and were added after `after`, in id order, hence by
 * sequence; whole sequences, until there are rows->limit of them. */
enum weir_status storage_feed_snapshot(struct store *store, const struct dataset *dataset,
                                       uint64_t after, uint64_t snapshot, struct feed_rows *rows,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Samples that were added up to `after` and erased after it, up to `snapshot`: what who was away has missed. Rows of
 * erasures are never forgotten. */
enum weir_status storage_feed_missed(struct store *store, const struct dataset *dataset,
                                     uint64_t after, uint64_t snapshot, uint64_t *ret_count,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
