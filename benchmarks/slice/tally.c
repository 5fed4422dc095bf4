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

void tally_end(struct tally *tally)
{
    tally->digest += tally->part;
}
