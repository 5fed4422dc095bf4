/* One replay, between replay.c (who asks, what is answered) and replay_build.c (how its order is made). */
#ifndef WEIR_STORAGE_REPLAY_STATE_H
#define WEIR_STORAGE_REPLAY_STATE_H

#include "storage/feed/replay.h"
#include "storage/reading/serve.h"

enum replay_state {
    REPLAY_CHECKING, /* do the samples lie in order? */
    REPLAY_SORTING,  /* they do not: runs are written */
    REPLAY_MERGING,
    REPLAY_READY,
};

struct replay {
    uint32_t dataset; /* 0: the slot is free */
    uint64_t position;
    int64_t used_ms;
    bool is_awaited; /* the newest to ask for it has been told to ask again */
    enum replay_state state;
    char *path;
    struct order_inputs inputs;
    uint64_t end_row;     /* rows below it were added up to the position */
    struct deaths deaths; /* after the position, */
    uint64_t deaths_upto; /* up to this change */

    uint64_t at_row;       /* next one to look at, while it is made */
    struct order_row last; /* CHECKING: the newest one seen */
    struct order_sort *sort;
    struct order *order;     /* NULL when READY: samples lie in order */
    struct order_row *marks; /* CHECKING and in place: one sample of each chunk */
    size_t mark_count, mark_capacity;
    struct order_row *rows; /* WEIR_BLOCK_ROWS, for one chunk; borrowed */
    /* why it could not be made; the status is WEIR_OK while it can */
    struct weir_error trouble;
};

/* True for a file of an unfinished sort, or of an order that nobody has used for a day. */
bool storage_replay_is_left_over(const char *name, int64_t used_s, int64_t now_s);
/* Finds its file, or begins to make it. */
enum weir_status storage_replay_open(const struct dataset *dataset, struct replay *replay,
                                     struct weir_error *err) WEIR_MUST_USE;
/* One piece of work towards READY. */
enum weir_status storage_replay_make(struct store *store, const struct dataset *dataset,
                                     struct replay *replay, struct weir_error *err) WEIR_MUST_USE;
double storage_replay_progress(const struct replay *replay);
/* Samples from row `row` (block << 16 | row) on, within one chunk and at most `limit`, as of the position
 * and less the erased; then `row` is the next one to ask for. */
struct replay_piece {
    uint64_t row;
    size_t limit;
    size_t count; /* in replay->rows */
};
enum weir_status storage_replay_rows(struct store *store, const struct dataset *dataset,
                                     struct replay *replay, struct replay_piece *piece,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
