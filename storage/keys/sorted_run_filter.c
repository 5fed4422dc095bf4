/* Split block Bloom filters: see sorted_run_filter.h. */
#include "storage/keys/sorted_run_filter.h"

#include "core/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, BLOCK_BITS = 8 * SORTED_RUN_FILTER_BLOCK_BYTES };

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "filters are stored as they are");

/* The odd constants of the Parquet specification. */
static const uint32_t SALT[WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                     0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};

void storage_sorted_run_filter_init(struct sorted_run_filter *filter, uint64_t count, unsigned bits)
{
    filter->blocks = (size_t)((count * bits + BLOCK_BITS - 1) / BLOCK_BITS);
    filter->blocks = filter->blocks > 0 ? filter->blocks : 1;
    filter->words = weir_calloc(filter->blocks, SORTED_RUN_FILTER_BLOCK_BYTES);
}

void storage_sorted_run_filter_fini(struct sorted_run_filter *filter)
{
    free(filter->words);
    *filter = (struct sorted_run_filter){0};
}

/* The upper half of a hash chooses the block, so that ascending hashes walk through memory. */
static uint32_t *block_of(const struct sorted_run_filter *filter, uint64_t hash)
{
    return filter->words + WORDS * (size_t)((hash >> 32) * filter->blocks >> 32);
}

static uint32_t bit_of(uint64_t hash, int word)
{
    return UINT32_C(1) << ((uint32_t)hash * SALT[word] >> 27);
}

void storage_sorted_run_filter_add(struct sorted_run_filter *filter, uint64_t hash)
{
    uint32_t *block = block_of(filter, hash);

    for (int i = 0; i < WORDS; i++)
        block[i] |= bit_of(hash, i);
}

bool storage_sorted_run_filter_may_hold(const struct sorted_run_filter *filter, uint64_t hash)
{
    const uint32_t *block;
    uint32_t missing = 0;

    if (filter->blocks == 0)
        return true;
    block = block_of(filter, hash);
    for (int i = 0; i < WORDS; i++)
        missing |= ~block[i] & bit_of(hash, i);
    return missing == 0;
}

size_t storage_sorted_run_filter_bytes(const struct sorted_run_filter *filter)
{
    return filter->blocks * SORTED_RUN_FILTER_BLOCK_BYTES;
}

struct weir_bytes storage_sorted_run_filter_view(const struct sorted_run_filter *filter)
{
    return weir_bytes(filter->words, storage_sorted_run_filter_bytes(filter));
}

bool storage_sorted_run_filter_load(struct sorted_run_filter *filter, struct weir_bytes bytes)
{
    if (bytes.size % SORTED_RUN_FILTER_BLOCK_BYTES != 0)
        return false;
    *filter = (struct sorted_run_filter){.blocks = bytes.size / SORTED_RUN_FILTER_BLOCK_BYTES};
    if (filter->blocks > 0) {
        filter->words = weir_calloc(filter->blocks, SORTED_RUN_FILTER_BLOCK_BYTES);
        memcpy(filter->words, bytes.at, bytes.size);
    }
    return true;
}
