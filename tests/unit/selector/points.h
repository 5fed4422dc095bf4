/* Points to choose among, and how near they are, by plain computation. */
#ifndef TESTS_UNIT_SELECTOR_POINTS_H
#define TESTS_UNIT_SELECTOR_POINTS_H

#include "core/base/rng.h"

#include <math.h>
#include <stdbool.h>

enum { POINTS = 150, WIDTH = 7 };

/* Clusters with copies in them, so that gains tie. */
static inline void draw_points(float *values, size_t count, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++) {
        bool is_copy = i > 0 && weir_rng_below(&rng, 4) == 0;
        size_t of = is_copy ? weir_rng_below(&rng, i) : 0;
        for (size_t k = 0; k < WIDTH; k++)
            values[i * WIDTH + k] =
                is_copy ? values[of * WIDTH + k] : (float)(weir_rng_unit(&rng) * 2 - 1);
    }
}

static inline double distance(const float *values, size_t i, size_t j)
{
    double square = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        double apart = (double)values[i * WIDTH + k] - (double)values[j * WIDTH + k];
        square += apart * apart;
    }
    return sqrt(square);
}

static inline double cosine(const float *values, size_t i, size_t j)
{
    double product = 0, x = 0, y = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        product += (double)values[i * WIDTH + k] * (double)values[j * WIDTH + k];
        x += (double)values[i * WIDTH + k] * (double)values[i * WIDTH + k];
        y += (double)values[j * WIDTH + k] * (double)values[j * WIDTH + k];
    }
    return product / sqrt(x * y);
}

#endif
