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
    uint64_t filled; /* elements of ragged tensors, and those of rectangles … */
    uint64_t cells;  /* … as wide as the longest row of each batch */
};

void tally_begin(struct tally *tally, uint64_t batch, uint64_t samples);
void tally_bytes(struct tally *tally, const void *at, size_t size);
/* Rows of a ragged tensor: `offsets` are one more. */
void tally_rows(struct tally *tally, const uint32_t *offsets, size_t rows);
void tally_end(struct tally *tally);

#endif
