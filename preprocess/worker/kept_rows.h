/* The rows of one batch that are kept, while it is made, and those that are to be: at the cut of its operators, or
 * records that only storage can read (WEIR_CACHE_RECORDS). Owned by: a batch maker. */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_ROWS_H
#define WEIR_PREPROCESS_WORKER_KEPT_ROWS_H

#include "preprocess/worker/kept.h"
#include "preprocess/worker/rows.h"

/* Use of rows that are kept, so far. */
struct kept_tally {
    uint64_t hits, misses;
    uint64_t damaged; /* segments: each counts for the batch that came next */
    int64_t read_ns;  /* of the hits, by the clock */
};

/* Zeroed is none. */
struct kept_rows {
    struct kept *kept;
    uint64_t key;
    bool is_used;             /* false: nothing is kept of this job */
    struct weir_buf ids;      /* of the batch */
    struct weir_buf places;   /* struct kept_place, by the place in the batch */
    struct weir_buf is_known; /* u8, by the row */
    const struct rows *rows;
    uint64_t spared_bytes;   /* of payload, which count as if they had been read */
    struct chain_kept use;   /* for the chain */
    uint64_t taken, made;    /* rows of this batch */
    uint64_t made_bytes;     /* of records among them */
    struct kept_tally tally; /* of all batches */
    uint64_t loads;
    uint64_t damaged_seen; /* segments that are in a tally */
};

void preprocess_kept_rows_fini(struct kept_rows *known);
/* Adds what `after` has more than `before`. */
void preprocess_kept_tally_add(struct kept_tally *sum, const struct kept_tally *before,
                               const struct kept_tally *after);
/* Finds the rows of the samples of a batch. `kept` may be NULL, `key` 0. */
void preprocess_kept_rows_begin(struct kept_rows *known, struct kept *kept, uint64_t key,
                                const struct located_sample *samples, size_t count);
/* True when the row of the sample at that place in the batch is kept. */
static inline bool preprocess_kept_rows_has(const struct kept_rows *known, size_t place)
{
    const struct kept_place *places = (const struct kept_place *)(const void *)known->places.at;
    return known->is_used && places[place].segment != UINT32_MAX;
}
/* Takes what is kept of the sample at that place instead of its record of so many bytes: appends that, or nothing where
 * its row enters at the cut. False: nothing is kept, or it is lost. */
bool preprocess_kept_rows_take(struct kept_rows *known, size_t place, uint64_t length,
                               struct weir_buf *out);
/* Gathers a record that storage has read: what `out` has from `before` on. */
void preprocess_kept_rows_add(struct kept_rows *known, uint64_t id, const struct weir_buf *out,
                              size_t before);
/* Takes in which rows the batch has, borrowed until it is settled. */
void preprocess_kept_rows_place(struct kept_rows *known, const struct rows *rows);
/* Returns the rows for the chain; NULL: none enter there. `known` may be NULL. */
const struct chain_kept *preprocess_kept_rows_at_cut(const struct kept_rows *known);
/* Returns the time that operators before the cut have taken so far. */
int64_t preprocess_kept_rows_spent_ns(const struct chain *chain);
/* The batch was made of good bytes: rows of it may be kept. Or it was not. `made_ns`: of the operators before the cut,
 * for this batch. */
void preprocess_kept_rows_settle(struct kept_rows *known, bool is_good, int64_t made_ns);

#endif
