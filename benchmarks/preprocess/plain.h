/* The side to compare with: one loop over libjpeg-turbo in this process that reads, decodes, crops,
 * resizes, mirrors and normalises the same pictures, with the same draws, into one batch buffer. */
#ifndef BENCHMARKS_PREPROCESS_PLAIN_H
#define BENCHMARKS_PREPROCESS_PLAIN_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAIN_SIZE = 224, PLAIN_ROW = 3 * PLAIN_SIZE * PLAIN_SIZE, PLAIN_BATCH = 32 };

/* PLAIN_OPERATORS: what Weir is told to do of the same. */
extern const char PLAIN_OPERATORS[];

struct plain;
struct plain *plain_new(uint64_t seed);
void plain_free(struct plain *plain);

/* Makes the picture at `path`, sample `id`, into row `row` of the batch. `region`: decodes no more than the
 * crop, as Weir does; otherwise all of it. */
struct plain_picture {
    const char *path;
    uint64_t id;
    bool region;
};
enum weir_status plain_make(struct plain *plain, const struct plain_picture *picture, size_t row,
                            struct weir_error *err) WEIR_MUST_USE;
const float *plain_row(const struct plain *plain, size_t row);
/* Finds the largest distance of row `row` from the output of Weir's operators for the same picture. */
enum weir_status plain_compare(struct plain *plain, const struct plain_picture *picture, size_t row,
                               double *ret_apart, struct weir_error *err) WEIR_MUST_USE;

#endif
