/* Size tiers: see chunk_merge_policy.h. */
#include "storage/chunks/chunk_merge_policy.h"

#include "core/wire/sample.h"

enum { TIER_BITS = 3 }; /* log2 of MERGE_FAN_IN */

static unsigned tier_of(uint32_t rows)
{
    return (unsigned)(31 - __builtin_clz(rows)) / TIER_BITS;
}

/* The first run of chunks of at most `tier` that has enough of that tier. */
static struct merge_span find_run(const uint32_t *rows, size_t count, unsigned tier,
                                  uint32_t rows_max)
{
    size_t first = 0, of_tier = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned found = tier_of(rows[i]);

        if (found > tier || rows[i] > rows_max / MERGE_FAN_IN) {
            first = i + 1;
            of_tier = 0;
            continue;
        }
        of_tier += found == tier;
        if (of_tier == MERGE_FAN_IN)
            return (struct merge_span){.first = first, .end = i + 1};
    }
    return (struct merge_span){0};
}

struct merge_span storage_chunk_merge_choose(const uint32_t *rows, size_t count, uint32_t rows_max)
{
    struct merge_span span = {0};
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += rows[i];
    if (total == WEIR_BLOCK_ROWS && total <= rows_max && count > 1)
        return (struct merge_span){.end = count};
    for (unsigned tier = 0; span.end == 0 && tier <= WEIR_ROW_BITS / TIER_BITS; tier++)
        span = find_run(rows, count, tier, rows_max);
    return span;
}
