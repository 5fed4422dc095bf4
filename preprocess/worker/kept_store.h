/* Rows of samples in the segments of the cache (core/wire/cache_segment.h, C19), as one worker sees them:
 * the folder is the truth, every worker maps all of it and writes segments of its own (kept_writer.h). A segment of
 * which anything is damaged is removed as a whole, counted, and made again by whoever needs its rows; so is one that
 * has become shorter. */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_STORE_H
#define WEIR_PREPROCESS_WORKER_KEPT_STORE_H

#include "core/base/index.h"
#include "core/wire/cache_segment.h"
#include "preprocess/worker/kept_index.h"
#include "preprocess/worker/mapping.h"

struct kept_segment {
    uint64_t number; /* its name, in hexadecimal digits */
    struct mapping mapping;
    uint32_t count;
    bool is_live; /* false: gone; the index may still name it */
    bool is_seen; /* by the scan under way */
    bool is_used; /* since this was noted in its time of modification */
};

/* Zeroed, with a folder, is empty. */
struct kept_store {
    char *folder; /* DATA_DIR/cache; owned */
    struct kept_segment *segments;
    size_t count, capacity;
    size_t live;
    struct weir_index numbers; /* of those that are live, or were */
    struct kept_index index;
    size_t dead_rows; /* still named by the index */
    struct weir_buf expanded;
    uint64_t damaged; /* segments */
};

/* Which samples are erased, and up to which epoch. */
struct kept_erased {
    weir_cache_is_erased_fn *is_erased;
    const void *owner;
    uint64_t epoch;
};

void preprocess_kept_store_fini(struct kept_store *store);
/* Unmaps everything and forgets it, until the next scan. */
void preprocess_kept_store_forget(struct kept_store *store);
/* Takes up segments that have come, and lets go of those that have gone. Of one whose writer did not know of all
 * erasures, rows of erased samples are overwritten first. */
void preprocess_kept_store_scan(struct kept_store *store, const struct kept_erased *erased);
/* Finds the rows that `key` has made of samples, and has the disk read them; *ret_places (one each): segment UINT32_MAX
 * where there is none. */
void preprocess_kept_store_find(struct kept_store *store, uint64_t key, const uint64_t *ids,
                                size_t count, struct kept_place *ret_places);
/* The row, borrowed until the next call, in the mapping: only preprocess_mapping_watch() may read it. It stays as it
 * was checked unless its sample is erased. False: its segment was damaged, and is gone. */
bool preprocess_kept_store_load(struct kept_store *store, struct kept_place place,
                                struct weir_bytes *ret_row);
/* A read of a row has failed: gives up the segments that have become shorter than they were mapped. */
void preprocess_kept_store_give_up_shorter(struct kept_store *store);
/* Notes in the file system which segments were used: the oldest use is evicted first. */
void preprocess_kept_store_note_use(struct kept_store *store);

#endif
