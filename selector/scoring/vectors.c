/* Laying rows out, and taking them out again: see vectors.h. */
#include "selector/scoring/vectors.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float LARGEST = 1e15F;

static float *component(const struct vectors *vectors, size_t row, size_t k)
{
    size_t panel = row / VECTORS_LANES;
    return &vectors->at[(panel * vectors->width + k) * VECTORS_LANES + row % VECTORS_LANES];
}

static float bounded(float value)
{
    if (isnan(value))
        return 0;
    return value > LARGEST ? LARGEST : value < -LARGEST ? -LARGEST : value;
}

static float square_of(const struct vectors *vectors, size_t row)
{
    float square = 0;
    for (size_t k = 0; k < vectors->width; k++)
        square += *component(vectors, row, k) * *component(vectors, row, k);
    return square;
}

static void scale_to_unit(struct vectors *vectors, size_t row)
{
    float length = sqrtf(square_of(vectors, row));
    for (size_t k = 0; length > 0 && k < vectors->width; k++)
        *component(vectors, row, k) /= length;
}

static void centre(struct vectors *vectors, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < vectors->count; i++)
        sum += (double)*component(vectors, i, k);
    float mean = (float)(sum / (double)vectors->count);
    for (size_t i = 0; i < vectors->count; i++)
        *component(vectors, i, k) -= mean;
}

void selector_scoring_vectors_init(struct vectors *vectors, const float *rows, size_t count,
                                   size_t width, enum vectors_scale scale)
{
    size_t panels = (count + VECTORS_LANES - 1) / VECTORS_LANES;
    size_t floats = panels * width * VECTORS_LANES;
    *vectors = (struct vectors){.count = count, .width = width, .panels = panels};
    vectors->at = weir_aligned_alloc((floats + 1) * sizeof(float));
    vectors->squares = weir_aligned_alloc((panels * VECTORS_LANES + 1) * sizeof(float));
    memset(vectors->at, 0, floats * sizeof(float));
    memset(vectors->squares, 0, panels * VECTORS_LANES * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < width; k++)
            *component(vectors, i, k) = bounded(rows[i * width + k]);
        if (scale == VECTORS_UNIT_LENGTH)
            scale_to_unit(vectors, i);
    }
    for (size_t k = 0; k < width && scale == VECTORS_CENTRED; k++)
        centre(vectors, k);
    for (size_t i = 0; i < count; i++)
        vectors->squares[i] = square_of(vectors, i);
    for (size_t i = 0; i < count && scale == VECTORS_UNIT_LENGTH; i++)
        vectors->squares[i] = vectors->squares[i] > 0; /* exactly, so that equal rows are equal */
}

void selector_scoring_vectors_fini(struct vectors *vectors)
{
    free(vectors->at);
    free(vectors->squares);
    *vectors = (struct vectors){0};
}

void selector_scoring_vectors_gather(const struct vectors *vectors, const size_t *rows,
                                     size_t count, float *ret_queries)
{
    memset(ret_queries, 0, vectors->width * VECTORS_AT_ONCE * sizeof(float));
    for (size_t c = 0; c < count; c++)
        for (size_t k = 0; k < vectors->width; k++)
            ret_queries[k * VECTORS_AT_ONCE + c] = *component(vectors, rows[c], k);
}

WEIR_CLONES void selector_scoring_vectors_project(const struct vectors *vectors,
                                                  const double *direction, double *ret_products)
{
    for (size_t panel = 0; panel < vectors->panels; panel++) {
        const float *rows = vectors->at + panel * vectors->width * VECTORS_LANES;
        double sums[VECTORS_LANES] = {0};
        for (size_t k = 0; k < vectors->width; k++)
            for (size_t r = 0; r < VECTORS_LANES; r++)
                sums[r] += (double)rows[k * VECTORS_LANES + r] * direction[k];
        memcpy(ret_products + panel * VECTORS_LANES, sums, sizeof(sums));
    }
}

void selector_scoring_vectors_row(const struct vectors *vectors, size_t row, double *ret_row)
{
    for (size_t k = 0; k < vectors->width; k++)
        ret_row[k] = (double)*component(vectors, row, k);
}
