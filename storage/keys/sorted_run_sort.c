/* A bucket sort by leading bits: see sorted_run_sort.h. */
#include "storage/keys/sorted_run_sort.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A bucket beyond SHORT holds a hash that many samples share, or two: no place for a quadratic sort. */
enum { BUCKET_BITS_MAX = 16, PER_BUCKET = 4, SHORT = 48, BUCKETS_A_PART = 1 << 13 };

static int by_hash(const void *a, const void *b)
{
    return sorted_run_entry_before(a, b) ? -1 : sorted_run_entry_before(b, a);
}

static void insertion_sort(struct sorted_run_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sorted_run_entry entry = entries[i];
        size_t at = i;

        for (; at > 0 && sorted_run_entry_before(&entry, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

static void sort_bucket(struct sorted_run_entry *entries, size_t count)
{
    if (count <= SHORT)
        insertion_sort(entries, count);
    else
        qsort(entries, count, sizeof(*entries), by_hash);
}

static unsigned bucket_bits(size_t count)
{
    unsigned bits = 1;

    while (bits < BUCKET_BITS_MAX && count >> bits > PER_BUCKET)
        bits++;
    return bits;
}

static void pause(const struct sorted_run_pause *between)
{
    if (between->pause != NULL)
        between->pause(between->owner);
}

void storage_sorted_run_sort(struct sorted_run_entry *entries, size_t count,
                             struct sorted_run_pause between)
{
    unsigned shift = 64 - bucket_bits(count);
    size_t buckets = (size_t)1 << (64 - shift);
    WEIR_AUTO_FREE uint32_t *ends = weir_calloc(buckets + 1, sizeof(*ends));
    WEIR_AUTO_FREE struct sorted_run_entry *from = weir_calloc(count + 1, sizeof(*from));
    size_t begin = 0;

    memcpy(from, entries, count * sizeof(*from));
    for (size_t i = 0; i < count; i++)
        ends[(from[i].hash >> shift) + 1]++;
    for (size_t b = 0; b < buckets; b++)
        ends[b + 1] += ends[b];
    pause(&between);
    for (size_t i = 0; i < count; i++)
        entries[ends[from[i].hash >> shift]++] = from[i];
    for (size_t b = 0; b < buckets;
         begin = ends[b++]) { /* where a bucket began, the one before ends */
        if (b % BUCKETS_A_PART == 0)
            pause(&between);
        sort_bucket(entries + begin, ends[b] - begin);
    }
}
