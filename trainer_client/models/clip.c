/* Clipping: see clip.h. Rows that the batch did not touch have no gradient. */
#include "trainer_client/models/clip.h"

#include <math.h>

static const double NORM_EPSILON = 1e-6; /* PyTorch's */

const struct cfg_key TRAINER_CLIP_KEYS[] = {
    CFG_F64(struct clip_options, norm, .min = 1e-12, .max = 1e12,
            .doc = "length that a step's gradient is shortened to where it is longer"),
    CFG_F64(struct clip_options, value, .min = 1e-12, .max = 1e12,
            .doc = "bound of each number of the gradient, on either side of 0"),
    CFG_END,
};

static float *row_of(const struct gradient *gradient, size_t i)
{
    return gradient->block + gradient->touched[i] * gradient->width;
}

static double squares_of(const struct gradient *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < gradient->touched_count; i++)
        for (uint32_t k = 0; k < gradient->width; k++)
            sum += (double)row_of(gradient, i)[k] * (double)row_of(gradient, i)[k];
    return sum;
}

static void scale(struct gradient *gradient, float factor)
{
    for (size_t i = 0; i < gradient->touched_count; i++)
        for (uint32_t k = 0; k < gradient->width; k++)
            row_of(gradient, i)[k] *= factor;
}

static void bound(struct gradient *gradient, float value)
{
    for (size_t i = 0; i < gradient->touched_count; i++)
        for (uint32_t k = 0; k < gradient->width; k++)
            row_of(gradient, i)[k] = fmaxf(-value, fminf(value, row_of(gradient, i)[k]));
}

void trainer_clip(const struct clip_options *options, struct gradient gradients[], size_t count)
{
    double squares = 0.0;
    if (!(options->norm > 0.0) && !(options->value > 0.0))
        return;
    for (size_t i = 0; i < count; i++)
        squares += squares_of(&gradients[i]);
    double factor = options->norm > 0.0 ? options->norm / (sqrt(squares) + NORM_EPSILON) : 1.0;
    for (size_t i = 0; i < count; i++) {
        if (factor < 1.0)
            scale(&gradients[i], (float)factor);
        if (options->value > 0.0)
            bound(&gradients[i], (float)options->value);
    }
}
