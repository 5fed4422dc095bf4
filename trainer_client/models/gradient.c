/* The sparse gradient: see gradient.h. */
#include "trainer_client/models/gradient.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void trainer_gradient_init(struct gradient *gradient, uint64_t rows, uint32_t width)
{
    *gradient = (struct gradient){
        .block = weir_calloc(rows * width + 1, sizeof(float)),
        .rows = rows,
        .width = width,
        .touched = weir_calloc(rows + 1, sizeof(uint64_t)),
        .is_touched = weir_calloc(rows + 1, 1),
    };
}

void trainer_gradient_fini(struct gradient *gradient)
{
    free(gradient->block);
    free(gradient->touched);
    free(gradient->is_touched);
    *gradient = (struct gradient){0};
}

void trainer_gradient_clear(struct gradient *gradient)
{
    for (size_t i = 0; i < gradient->touched_count; i++)
        gradient->is_touched[gradient->touched[i]] = 0;
    gradient->touched_count = 0;
}

float *trainer_gradient_row(struct gradient *gradient, uint64_t row)
{
    float *at = gradient->block + row * gradient->width;
    if (!gradient->is_touched[row]) {
        gradient->is_touched[row] = 1;
        gradient->touched[gradient->touched_count++] = row;
        memset(at, 0, gradient->width * sizeof(*at));
    }
    return at;
}
