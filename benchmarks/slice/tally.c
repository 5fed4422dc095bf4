/* A digest per batch, chained over its arrays; batches add up. */
#include "benchmarks/slice/tally.h"

#include "core/base/hash.h"
#include "core/base/rng.h"

void tally_begin(struct tally *tally, uint64_t batch, uint64_t samples)
{
    tally->part = weir_mix64(batch);
    tally->samples += samples;
    tally->batches++;
}

void tally_bytes(struct tally *tally, const void *at, size_t size)
{
    tally->part = weir_hash64(weir_bytes(at, size), tally->part);
}

void tally_rows(struct tally *tally, const uint32_t *offsets, size_t rows)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < rows; i++)
        widest = offsets[i + 1] - offsets[i] > widest ? offsets[i + 1] - offsets[i] : widest;
    tally->filled += offsets[rows] - offsets[0];
    tally->cells += rows * widest;
}

void tally_end(struct tally *tally)
{
    tally->digest += tally->part;
}
