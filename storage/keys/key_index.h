/* Which samples a keyed hash means: the sorted runs of one dataset and one kind of hash, as memory knows
 * them, and look-ups in them. Segments are read through a function, so that a look-up can be tested and
 * measured without Postgres. Owned by its dataset; stored by key_store.h.
 *
 * In memory: 4 bytes for each segment of 1024 entries, and filters up to a budget. Runs without a filter
 * (the largest, once the budget is spent) are read at each look-up: slower, never wrong. */
#ifndef WEIR_STORAGE_KEY_INDEX_H
#define WEIR_STORAGE_KEY_INDEX_H

#include "storage/keys/sorted_run_filter.h"
#include "storage/keys/sorted_run_segment.h"

/* Stored as numbers: append only. */
enum key_kind { KEY_SUBJECT = 1, KEY_SAMPLE = 2 };

/* Filters of all indexes together, and of one run. */
enum { KEY_FILTERS_BYTES_MAX = 128 << 20, KEY_FILTER_BYTES_MAX = 64 << 20 };
struct key_budget {
    size_t bytes, bytes_max;
};

struct sorted_run {
    uint64_t number;
    uint64_t count;
    bool is_own;      /* a partition of its own */
    uint32_t *fences; /* the upper half of the first hash of each segment */
    size_t segments;
    struct sorted_run_filter filter;
};

struct key_index {
    enum key_kind kind;
    struct key_budget *budget; /* borrowed; NULL: no filters in memory */
    struct sorted_run *runs;
    size_t run_count;
};

void storage_key_index_fini(struct key_index *index);
/* Takes over the run; its filter, or that of the largest run, is dropped when the budget is spent. */
void storage_key_index_add(struct key_index *index, struct sorted_run *run);
/* Forgets the run of this number. */
void storage_key_index_drop(struct key_index *index, uint64_t number);
struct sorted_run *storage_key_index_run(const struct key_index *index, uint64_t number);
/* Bits a filter has for each hash: duplicates are looked for with every sample, subjects seldom. */
unsigned storage_key_filter_bits(enum key_kind kind);
void storage_sorted_run_fini(struct sorted_run *run);

/* Source of segments. `segment` hands out the stored bytes of `count` segments (ascending) of a
 * run; borrowed until the next call. */
enum { KEY_SEGMENTS_AT_ONCE = 64 };
struct key_source {
    void *owner;
    enum weir_status (*segments)(void *owner, uint64_t run, const uint64_t *numbers, size_t count,
                                 struct weir_bytes *ret_bytes, struct weir_error *err);
};

struct key_hits {
    struct sorted_run_entry *at; /* by run, then ascending; the owner frees it */
    size_t count, capacity;
};

/* Position of a walk over the segments of all runs that may hold some hashes; no run may leave the index
 * meanwhile. The start has nothing but the hashes. */
struct key_walk {
    const uint64_t *hashes; /* ascending, distinct, borrowed; NULL: all segments */
    size_t hash_count;
    size_t run;
    uint64_t *segments; /* of the run, that are looked into; NULL: not listed yet */
    size_t count, at;
};
void storage_key_walk_fini(struct key_walk *walk);
/* The run and its next segments, in walk->segments from `*ret_first` to walk->at: at most KEY_SEGMENTS_AT_ONCE, and
 * none where none may hold one of the hashes. NULL when all runs are through. */
struct sorted_run *storage_key_walk_next(const struct key_index *index, struct key_walk *walk,
                                         size_t *ret_first);
/* A bounded piece of a look-up: the entries of the walk's hashes in the next segments. */
enum weir_status storage_key_index_walk(const struct key_index *index, struct key_walk *walk,
                                        const struct key_source *source, struct key_hits *hits,
                                        bool *ret_done, struct weir_error *err) WEIR_MUST_USE;

#endif
