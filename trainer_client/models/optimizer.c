/* The optimizers: sgd, adagrad (Duchi, Hazan, Singer 2011, diagonal form). */
#include "trainer_client/models/optimizer.h"

#include <math.h>

// clang-format off
#define OPTIMIZERS(X)                                                                              \
    X("sgd", "a fixed step against the gradient", 0, update_sgd)                                   \
    X("adagrad", "steps scaled by the sum of squared gradients", 1, update_adagrad)
// clang-format on

static const char *const NAMES[] = {
#define X(name, ...) name,
    OPTIMIZERS(X)
#undef X
        NULL,
};

const struct cfg_key TRAINER_OPTIMIZER_OPTIONS[] = {
    CFG_CHOICE(struct optimizer_options, name, .fallback = "adagrad", .choices = NAMES,
               .doc = "sgd (a fixed step) or adagrad (a step per parameter that shrinks with use)"),
    CFG_F64(struct optimizer_options, lr, .fallback = "0.1", .min = 1e-12, .max = 1e6,
            .doc = "learning rate"),
    CFG_F64(struct optimizer_options, epsilon, .fallback = "1e-10", .min = 1e-30, .max = 1.0,
            .doc = "adagrad: keeps the first step finite"),
    CFG_END,
};

static void update_sgd(const struct optimizer_options *options, uint32_t width,
                       const float *gradient, float *parameters, float *state)
{
    (void)state;
    for (uint32_t k = 0; k < width; k++)
        parameters[k] -= (float)options->lr * gradient[k];
}

static void update_adagrad(const struct optimizer_options *options, uint32_t width,
                           const float *gradient, float *parameters, float *state)
{
    for (uint32_t k = 0; k < width; k++) {
        state[k] += gradient[k] * gradient[k];
        parameters[k] -=
            (float)options->lr * gradient[k] / (sqrtf(state[k]) + (float)options->epsilon);
    }
}

static const struct optimizer ALL[] = {
#define X(...) {__VA_ARGS__},
    OPTIMIZERS(X)
#undef X
};

const struct optimizer *trainer_optimizer_at(size_t index)
{
    return index < WEIR_COUNT(ALL) ? &ALL[index] : NULL;
}

const struct optimizer *trainer_optimizer_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++) {
        if (weir_str_equal(ALL[i].name, name))
            return &ALL[i];
    }
    return NULL;
}

void trainer_optimizer_apply(const struct optimizer *optimizer,
                             const struct optimizer_options *options,
                             const struct gradient *gradient, float *parameters, float *state)
{
    uint32_t width = gradient->width;
    for (size_t i = 0; i < gradient->touched_count; i++) {
        size_t at = (size_t)gradient->touched[i] * width;
        optimizer->update(options, width, gradient->block + at, parameters + at,
                          state != NULL ? state + at : NULL);
    }
}
