/* Gradient of a parameter block of which one batch touches few rows: rows are zeroed when first
 * touched, and only touched rows are looked at afterwards. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_GRADIENT_H
#define WEIR_TRAINER_CLIENT_MODELS_GRADIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gradient {
    float *block; /* (rows, width); only touched rows mean anything */
    uint64_t rows;
    uint32_t width;
    uint64_t *touched; /* in the order of their first touch */
    size_t touched_count;
    uint8_t *is_touched; /* per row */
};

void trainer_gradient_init(struct gradient *gradient, uint64_t rows, uint32_t width);
void trainer_gradient_fini(struct gradient *gradient);
void trainer_gradient_clear(struct gradient *gradient);
/* The row to add to. */
float *trainer_gradient_row(struct gradient *gradient, uint64_t row);

/* True for a sample that teaches nothing, because it has no weight: the rows of its inputs stay untouched. */
static inline bool gradient_is_zero(const float *slope, size_t width)
{
    for (size_t k = 0; k < width; k++)
        if (slope[k] < 0.0f || slope[k] > 0.0f)
            return false;
    return true;
}

#endif
