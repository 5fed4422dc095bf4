/* The sparse gradient: see gradient.h. */
#include "trainer_client/models/gradient.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_FLOATS = 16 };

void trainer_gradient_init(struct gradient *gradient, uint64_t rows, uint32_t width)
{
    *gradient = (struct gradient){
        .block = weir_calloc(rows * width + 1, sizeof(float)),
        .rows = rows,
        .width = width,
        .is_touched = weir_calloc(rows + 1, 1),
    };
    while ((width << gradient->shift) < LINE_FLOATS && width > 0)
        gradient->shift++;
}

void trainer_gradient_fini(struct gradient *gradient)
{
    free(gradient->block);
    for (size_t i = 0; i < GRADIENT_STRIPES; i++)
        free(gradient->touched[i].at);
    free(gradient->is_touched);
    *gradient = (struct gradient){0};
}

void trainer_gradient_clear_part(const struct gradient_part *part)
{
    GRADIENT_STRIPES_OF(part, stripe)
    {
        struct gradient_touched *touched = &part->gradient->touched[stripe];
        for (size_t i = 0; i < touched->count; i++)
            part->gradient->is_touched[touched->at[i]] = 0;
        touched->count = 0;
    }
}

struct gradient_part trainer_gradient_part(struct gradient *gradient, uint32_t part, uint32_t parts)
{
    struct gradient_part made = {.gradient = gradient};
    for (uint32_t stripe = part; stripe < GRADIENT_STRIPES; stripe += parts)
        made.stripes |= 1u << stripe;
    return made;
}

static uint32_t stripe_of(const struct gradient *gradient, uint64_t row)
{
    return (uint32_t)(row >> gradient->shift) % GRADIENT_STRIPES;
}

static void touch(struct gradient *gradient, uint64_t row)
{
    struct gradient_touched *touched = &gradient->touched[stripe_of(gradient, row)];
    touched->at = weir_grow(touched->at, touched->count, &touched->capacity, sizeof(*touched->at));
    touched->at[touched->count++] = row;
    gradient->is_touched[row] = 1;
    memset(gradient->block + row * gradient->width, 0, gradient->width * sizeof(float));
}

float *trainer_gradient_row(struct gradient *gradient, uint64_t row)
{
    if (!gradient->is_touched[row])
        touch(gradient, row);
    return gradient->block + row * gradient->width;
}

float *trainer_gradient_part_row(const struct gradient_part *part, uint64_t row)
{
    bool is_ours = part->stripes >> stripe_of(part->gradient, row) & 1;
    return is_ours ? trainer_gradient_row(part->gradient, row) : NULL;
}
