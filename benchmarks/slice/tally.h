/* Stands for the training loop in `slice.batches`: reads every byte of every batch once, and tells
 * whether two ways of making batches made the same ones. */
#ifndef BENCHMARKS_SLICE_TALLY_H
#define BENCHMARKS_SLICE_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct tally {
    uint64_t samples;
    uint64_t batches;
    uint64_t digest; /* of all batches, whatever order they came in */
    uint64_t part;   /* private: of the batch under way */
};

void tally_begin(struct tally *tally, uint64_t batch, uint64_t samples);
void tally_bytes(struct tally *tally, const void *at, size_t size);
void tally_end(struct tally *tally);

#endif
