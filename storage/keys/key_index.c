/* Look-ups in sorted runs: see key_index.h. */
#include "storage/keys/key_index.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>

unsigned storage_key_filter_bits(enum key_kind kind)
{
    return kind == KEY_SAMPLE ? 16 : 10;
}

/* ---- runs ---- */

void storage_sorted_run_fini(struct sorted_run *run)
{
    free(run->fences);
    storage_sorted_run_filter_fini(&run->filter);
    *run = (struct sorted_run){0};
}

static void drop_filter(const struct key_index *index, struct sorted_run *run)
{
    if (index->budget != NULL)
        index->budget->bytes -= storage_sorted_run_filter_bytes(&run->filter);
    storage_sorted_run_filter_fini(&run->filter);
}

void storage_key_index_fini(struct key_index *index)
{
    for (size_t i = 0; i < index->run_count; i++) {
        drop_filter(index, &index->runs[i]);
        storage_sorted_run_fini(&index->runs[i]);
    }
    free(index->runs);
    index->runs = NULL;
    index->run_count = 0;
}

static struct sorted_run *largest_filter(const struct key_index *index)
{
    struct sorted_run *largest = NULL;

    for (size_t i = 0; i < index->run_count; i++) {
        if (largest == NULL || index->runs[i].filter.blocks > largest->filter.blocks)
            largest = &index->runs[i];
    }
    return largest != NULL && largest->filter.blocks > 0 ? largest : NULL;
}

static void keep_budget(const struct key_index *index)
{
    struct sorted_run *largest;

    while (index->budget != NULL && index->budget->bytes > index->budget->bytes_max &&
           (largest = largest_filter(index)) != NULL)
        drop_filter(index, largest);
}

void storage_key_index_add(struct key_index *index, struct sorted_run *run)
{
    index->runs = weir_realloc(index->runs, index->run_count + 1, sizeof(*index->runs));
    index->runs[index->run_count++] = *run;
    if (index->budget != NULL)
        index->budget->bytes += storage_sorted_run_filter_bytes(&run->filter);
    *run = (struct sorted_run){0};
    keep_budget(index);
}

struct sorted_run *storage_key_index_run(const struct key_index *index, uint64_t number)
{
    for (size_t i = 0; i < index->run_count; i++) {
        if (index->runs[i].number == number)
            return &index->runs[i];
    }
    return NULL;
}

void storage_key_index_drop(struct key_index *index, uint64_t number)
{
    struct sorted_run *run = storage_key_index_run(index, number);

    if (run == NULL)
        return;
    drop_filter(index, run);
    storage_sorted_run_fini(run);
    *run = index->runs[--index->run_count];
}

/* ---- segments ---- */

/* The first segment, at or after `from`, whose fence is not below. */
static size_t fence_from(const struct sorted_run *run, size_t from, uint32_t fence)
{
    size_t low = from, high = run->segments;

    WEIR_BISECT(low, high, middle, run->fences[middle] < fence);
    return low;
}

/* The segments of a run that may hold one of `hashes`: ascending numbers, in the caller's memory. */
static size_t segments_of(const struct sorted_run *run, const uint64_t *hashes, size_t count,
                          uint64_t **ret_segments)
{
    uint64_t *segments = weir_calloc(run->segments + 1, sizeof(*segments));
    size_t found = 0, at = 0, next = 0; /* segments before `next` are decided */

    for (size_t i = 0; i < count; i++) {
        uint32_t fence = (uint32_t)(hashes[i] >> 32);

        if (!storage_sorted_run_filter_may_hold(&run->filter, hashes[i]))
            continue;
        at = fence_from(run, at, fence); /* the one before may end with the hash */
        for (size_t s = at > 0 ? at - 1 : 0; s < run->segments && run->fences[s] <= fence; s++) {
            if (s >= next)
                segments[found++] = s;
            next = s >= next ? s + 1 : next;
        }
    }
    *ret_segments = segments;
    return found;
}

/* ---- looking up ---- */

static void add_hit(struct key_hits *hits, const struct sorted_run_entry *entry)
{
    hits->at = weir_grow(hits->at, hits->count, &hits->capacity, sizeof(*hits->at));
    hits->at[hits->count++] = *entry;
}

/* Both ascend: one walk. */
static void match(const struct sorted_run_entry *entries, size_t entry_count,
                  const uint64_t *hashes, size_t count, struct key_hits *hits)
{
    size_t low = 0, high = count;

    /* the first hash that is not below the segment */
    WEIR_BISECT(low, high, middle, hashes[middle] < entries[0].hash);
    for (size_t e = 0; e < entry_count && low < count;) {
        if (entries[e].hash == hashes[low])
            add_hit(hits, &entries[e++]);
        else if (entries[e].hash < hashes[low])
            e++;
        else
            low++;
    }
}

static enum weir_status match_all(const struct weir_bytes *segments, size_t segment_count,
                                  const struct key_walk *walk, struct key_hits *hits,
                                  struct weir_error *err)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < segment_count; i++) {
        size_t entry_count;

        if (segments[i].size == 0) /* all of it was erased */
            continue;
        status = storage_sorted_run_segment_unpack(segments[i], entries, &entry_count, err);
        if (status == WEIR_OK)
            match(entries, entry_count, walk->hashes, walk->hash_count, hits);
    }
    return status;
}

/* ---- one piece after the other ---- */

void storage_key_walk_fini(struct key_walk *walk)
{
    free(walk->segments);
    *walk = (struct key_walk){0};
}

static void list_segments(const struct sorted_run *run, struct key_walk *walk)
{
    if (walk->hashes != NULL) {
        walk->count = segments_of(run, walk->hashes, walk->hash_count, &walk->segments);
        return;
    }
    walk->count = run->segments;
    walk->segments = weir_calloc(run->segments + 1, sizeof(*walk->segments));
    for (size_t i = 0; i < run->segments; i++)
        walk->segments[i] = i;
}

struct sorted_run *storage_key_walk_next(const struct key_index *index, struct key_walk *walk,
                                         size_t *ret_first)
{
    struct sorted_run *run;
    size_t left;

    if (walk->segments != NULL && walk->at == walk->count) {
        free(walk->segments);
        walk->segments = NULL;
        walk->at = 0;
        walk->run++;
    }
    if (walk->run >= index->run_count)
        return NULL;
    run = &index->runs[walk->run];
    if (walk->segments == NULL)
        list_segments(run, walk);
    left = walk->count - walk->at;
    *ret_first = walk->at;
    walk->at += left < KEY_SEGMENTS_AT_ONCE ? left : KEY_SEGMENTS_AT_ONCE;
    return run;
}

enum weir_status storage_key_index_walk(const struct key_index *index, struct key_walk *walk,
                                        const struct key_source *source, struct key_hits *hits,
                                        bool *ret_done, struct weir_error *err)
{
    struct weir_bytes bytes[KEY_SEGMENTS_AT_ONCE];
    size_t first = 0;
    const struct sorted_run *run =
        walk->hash_count > 0 ? storage_key_walk_next(index, walk, &first) : NULL;
    enum weir_status status;

    *ret_done = run == NULL;
    if (run == NULL || walk->at == first)
        return WEIR_OK;
    status = source->segments(source->owner, run->number, walk->segments + first, walk->at - first,
                              bytes, err);
    return status == WEIR_OK ? match_all(bytes, walk->at - first, walk, hits, err) : status;
}
