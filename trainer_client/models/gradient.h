/* Gradient of a parameter block of which one batch touches few rows: rows are zeroed when first
 * touched, and only touched rows are looked at afterwards. The rows are dealt out to GRADIENT_STRIPES stripes, whatever
 * the number of threads: a thread that works on some of them shares no row, and no cache line, with the others. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_GRADIENT_H
#define WEIR_TRAINER_CLIENT_MODELS_GRADIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRADIENT_STRIPES = 32 };

struct gradient {
    float *block; /* (rows, width); only touched rows mean anything */
    uint64_t rows;
    uint32_t width;
    /* 2^shift neighbouring rows are in one stripe: about a cache line of the block */
    uint32_t shift;
    struct gradient_touched {
        uint64_t *at; /* in the order of their first touch */
        size_t count, capacity;
    } touched[GRADIENT_STRIPES];
    uint8_t *is_touched; /* per row */
};

void trainer_gradient_init(struct gradient *gradient, uint64_t rows, uint32_t width);
void trainer_gradient_fini(struct gradient *gradient);
/* The row to add to. */
float *trainer_gradient_row(struct gradient *gradient, uint64_t row);

/* The stripes of a gradient that one thread works on. */
struct gradient_part {
    struct gradient *gradient;
    uint32_t stripes; /* a bit for each */
};
/* Part `part` of `parts`, at most GRADIENT_STRIPES. */
struct gradient_part trainer_gradient_part(struct gradient *gradient, uint32_t part,
                                           uint32_t parts);

/* for (every stripe of the part) */
#define GRADIENT_STRIPES_OF(which, stripe)                             \
    for (uint32_t stripe = 0; (stripe) < GRADIENT_STRIPES; (stripe)++) \
        if (((which)->stripes >> (stripe)) & 1u)

void trainer_gradient_clear_part(const struct gradient_part *part);
/* The row to add to; NULL: another part's. */
float *trainer_gradient_part_row(const struct gradient_part *part, uint64_t row);

/* True for a sample that teaches nothing, because it has no weight: the rows of its inputs stay untouched. */
static inline bool gradient_is_zero(const float *slope, size_t width)
{
    for (size_t k = 0; k < width; k++)
        if (slope[k] < 0.0f || slope[k] > 0.0f)
            return false;
    return true;
}

#endif
