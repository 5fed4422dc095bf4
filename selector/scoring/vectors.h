/* Rows of floats laid out for products of many with few: what every scoring method that compares
 * samples stands on. No method ever holds count × count numbers; products are made again in panels.
 *
 * A product is summed from the first component to the last, each in a lane of its own, so that it has
 * the same bits whatever the instruction set and whatever else is computed beside it. A BLAS sums in an
 * order that depends on the machine: docs/decisions/005-products-of-our-own.md. */
#ifndef SELECTOR_SCORING_VECTORS_H
#define SELECTOR_SCORING_VECTORS_H

#include "core/base/attributes.h"

#include <stddef.h>

enum {
    VECTORS_LANES = 16,  /* rows of a panel */
    VECTORS_AT_ONCE = 4, /* rows that a panel is multiplied with in one pass */
};

enum vectors_scale {
    VECTORS_AS_THEY_ARE,
    VECTORS_UNIT_LENGTH, /* but for rows of length 0 */
    VECTORS_CENTRED,     /* less their mean */
};

struct vectors {
    size_t count, width;
    size_t panels;
    float *at; /* panel p: component k of its row r at (p * width + k) * VECTORS_LANES + r */
    /* |row|², panels * VECTORS_LANES of them; 0 after count; of unit length exactly 1 */
    float *squares;
};

/* Copies `count` rows of `width` floats. A component that is no number counts as 0, one beyond ±1e15 as
 * that: no square overflows. */
void selector_scoring_vectors_init(struct vectors *vectors, const float *rows, size_t count,
                                   size_t width, enum vectors_scale scale);
void selector_scoring_vectors_fini(struct vectors *vectors);

/* Up to VECTORS_AT_ONCE rows side by side, as scoring_vectors_multiply() wants them: component k of
 * the c-th at ret_queries[k * VECTORS_AT_ONCE + c], zeroes after the last. */
void selector_scoring_vectors_gather(const struct vectors *vectors, const size_t *rows,
                                     size_t count, float *ret_queries);

/* Every row times `direction`, summed in doubles; room for panels * VECTORS_LANES products. */
void selector_scoring_vectors_project(const struct vectors *vectors, const double *direction,
                                      double *ret_products);
/* One row; `width` numbers. */
void selector_scoring_vectors_row(const struct vectors *vectors, size_t row, double *ret_row);

/* ret_products[c * VECTORS_LANES + r]: row r of the panel times query c. Inlined into callers that are
 * WEIR_CLONES. */
typedef float vectors_lanes
    __attribute__((vector_size(VECTORS_LANES * sizeof(float)), __may_alias__));

static WEIR_ALWAYS_INLINE void scoring_vectors_multiply(const struct vectors *vectors, size_t panel,
                                                        const float *queries, float *ret_products)
{
    const vectors_lanes *rows =
        (const vectors_lanes *)(vectors->at + panel * vectors->width * VECTORS_LANES);
    vectors_lanes *products = (vectors_lanes *)ret_products;
    vectors_lanes a = {0}, b = {0}, c = {0}, d = {0};

    for (size_t k = 0; k < vectors->width; k++, queries += VECTORS_AT_ONCE) {
        a += rows[k] * queries[0];
        b += rows[k] * queries[1];
        c += rows[k] * queries[2];
        d += rows[k] * queries[3];
    }
    products[0] = a;
    products[1] = b;
    products[2] = c;
    products[3] = d;
}

#endif
