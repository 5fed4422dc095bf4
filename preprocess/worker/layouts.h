/* Locations of the samples of whole chunks, kept from lease to lease: each epoch goes over the same chunks
 * again, and asking storage for each sample costs more than reading it. No clock, socket or log.
 * Owned by struct worker.
 *
 * Rules
 *   1  The chunks held of a dataset are valid under its edition (located_chunks), which is asked for before each lease
 *      begins; when it differs, all of the dataset is dropped. So a lease is located as of its beginning,
 *      as if each sample had been asked for then.
 *   2  All is dropped when the erasure epoch grows, and when a file has proved to be another one.
 *   3  A chunk is bought once as many of its samples have been asked for one by one as it costs
 *      (LAYOUTS_PRICE_IDS): at most twice the price of what would have been best (Karlin et al. 1988,
 *      competitive snoopy caching).
 *   4  At most LAYOUTS_BYTES_MAX. A chunk that was used in the last LAYOUTS_IDLE_MS stays: an order that goes
 *      over more than there is room for would otherwise buy everything again each time. */
#ifndef WEIR_PREPROCESS_WORKER_LAYOUTS_H
#define WEIR_PREPROCESS_WORKER_LAYOUTS_H

#include "core/wire/wire.h"
#include "preprocess/worker/located.h"

enum {
    LAYOUTS_BYTES_MAX = 64 << 20,
    LAYOUTS_PRICE_IDS = 512,
    LAYOUTS_IDLE_MS = 10000,
    LAYOUTS_DATASETS_MAX = 16, /* samples of more are asked for one by one */
    LAYOUTS_REQUEST_MAX = 64,  /* chunks of one request */
};

struct layouts;

struct layouts *preprocess_layouts_new(size_t bytes_max);
void preprocess_layouts_free(struct layouts *layouts);
/* Drops everything. */
void preprocess_layouts_clear(struct layouts *layouts);

/* Fills in the locations that are held, and leaves the rest unknown. None of it counts until
 * preprocess_layouts_wanted() has nothing to ask. */
void preprocess_layouts_fill(struct layouts *layouts, struct located *located, int64_t now_ms);
/* Returns the request to storage for the lease that was filled in last; false: none. Borrowed until the next call
 * of any other function. */
bool preprocess_layouts_wanted(struct layouts *layouts, struct msg_locate_chunks *ret_request);
/* Takes in the answer, whose columns are `columns`; *ret_is_changed: locations filled in before are out of date.
 * INVALID when it is none; nothing is held then. */
enum weir_status preprocess_layouts_take(struct layouts *layouts,
                                         const struct msg_located_chunks *answer,
                                         struct weir_bytes columns, int64_t now_ms,
                                         bool *ret_is_changed,
                                         struct weir_error *err) WEIR_MUST_USE;

#endif
