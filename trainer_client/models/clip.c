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

static double square_row(float *row, uint32_t width, float unused)
{
    double sum = 0.0;
    (void)unused;
    for (uint32_t k = 0; k < width; k++)
        sum += (double)row[k] * (double)row[k];
    return sum;
}

static double scale_row(float *row, uint32_t width, float factor)
{
    for (uint32_t k = 0; k < width; k++)
        row[k] *= factor;
    return 0.0;
}

static double bound_row(float *row, uint32_t width, float value)
{
    for (uint32_t k = 0; k < width; k++)
        row[k] = fmaxf(-value, fminf(value, row[k]));
    return 0.0;
}

/* Adds up what `of_row` says of all rows that were touched, in an order that does not depend on threads. */
static double of_rows(const struct gradient *gradient,
                      double (*of_row)(float *row, uint32_t width, float by), float by)
{
    double sum = 0.0;
    for (size_t stripe = 0; stripe < GRADIENT_STRIPES; stripe++) {
        const struct gradient_touched *touched = &gradient->touched[stripe];
        for (size_t i = 0; i < touched->count; i++)
            sum += of_row(gradient->block + touched->at[i] * gradient->width, gradient->width, by);
    }
    return sum;
}

void trainer_clip(const struct clip_options *options, struct gradient gradients[], size_t count)
{
    double squares = 0.0;
    if (!(options->norm > 0.0) && !(options->value > 0.0))
        return;
    for (size_t i = 0; i < count; i++)
        squares += of_rows(&gradients[i], square_row, 0.0f);
    double factor = options->norm > 0.0 ? options->norm / (sqrt(squares) + NORM_EPSILON) : 1.0;
    for (size_t i = 0; i < count; i++) {
        if (factor < 1.0)
            of_rows(&gradients[i], scale_row, (float)factor);
        if (options->value > 0.0)
            of_rows(&gradients[i], bound_row, (float)options->value);
    }
}
