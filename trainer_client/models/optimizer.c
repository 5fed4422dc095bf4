/* The optimizers, by the formulas of PyTorch (torch.optim) of the same name: sgd with momentum (Sutskever et al. 2013,
 * section 2, in PyTorch's form), adagrad (Duchi, Hazan, Singer 2011, diagonal form), adam (Kingma, Ba 2015, algorithm
 * 1), adamw (Loshchilov, Hutter 2019, algorithm 2). */
#include "trainer_client/models/optimizer.h"

#include "core/base/elementary.h"

#include <math.h>

// clang-format off
#define LR(usual)                                                                                  \
    CFG_F64(struct optimizer_options, lr, .fallback = usual, .min = 1e-12, .max = 1e6,             \
            .doc = "learning rate")
#define EPSILON(usual)                                                                             \
    CFG_F64(struct optimizer_options, epsilon, .fallback = usual, .min = 1e-30, .max = 1.0,        \
            .doc = "keeps steps finite where gradients are tiny")
#define WEIGHT_DECAY(usual, text)                                                                  \
    CFG_F64(struct optimizer_options, weight_decay, .fallback = usual, .max = 1e3, .doc = text)
#define BETA(which, usual, text)                                                                   \
    CFG_F64(struct optimizer_options, which, .fallback = usual, .max = 0.9999999, .doc = text)
#define BETAS                                                                                      \
    BETA(beta1, "0.9", "share of the mean gradient that a step keeps"),                            \
    BETA(beta2, "0.999", "share of the mean squared gradient that a step keeps")

static const char IN_GRADIENT[] = "share of each weight that is added to its gradient";

static const struct cfg_key SGD[] = {
    LR("0.1"),
    CFG_F64(struct optimizer_options, momentum, .fallback = "0", .max = 0.9999999,
            .doc = "share of the step before that a step keeps"),
    WEIGHT_DECAY("0", IN_GRADIENT),
    CFG_END,
};
static const struct cfg_key ADAGRAD[] = {
    LR("0.1"), EPSILON("1e-10"), WEIGHT_DECAY("0", IN_GRADIENT), CFG_END,
};
static const struct cfg_key ADAM[] = {
    LR("0.001"), BETAS, EPSILON("1e-8"), WEIGHT_DECAY("0", IN_GRADIENT), CFG_END,
};
static const struct cfg_key ADAMW[] = {
    LR("0.001"), BETAS, EPSILON("1e-8"),
    WEIGHT_DECAY("0.01", "share of each weight, times the learning rate, that a step takes away"),
    CFG_END,
};

#define OPTIMIZERS(X)                                                                              \
    X("sgd", "a fixed step against the gradient, with momentum if wanted", SGD, blocks_sgd, update_sgd) \
    X("adagrad", "a step per parameter that shrinks with use", ADAGRAD, blocks_one, update_adagrad) \
    X("adam", "a step per parameter by the means of gradient and squared gradient", ADAM, blocks_two, update_adam) \
    X("adamw", "adam, with weight decay apart from the gradient", ADAMW, blocks_two, update_adamw)
// clang-format on

static uint32_t blocks_sgd(const struct optimizer_options *options)
{
    return options->momentum > 0.0;
}

static uint32_t blocks_one(const struct optimizer_options *options)
{
    (void)options;
    return 1;
}

static uint32_t blocks_two(const struct optimizer_options *options)
{
    (void)options;
    return 2;
}

/* The gradient of parameter `k`, weight decay included. */
static float decayed(const struct optimizer_step *step, const struct optimizer_row *row, uint32_t k)
{
    return row->gradient[k] + (float)step->options->weight_decay * row->parameters[k];
}

static void update_sgd(const struct optimizer_step *step, const struct optimizer_row *row)
{
    float *kept = row->state[0];
    for (uint32_t k = 0; k < row->width; k++) {
        float change = decayed(step, row, k);
        if (kept != NULL)
            change = kept[k] = (float)step->options->momentum * kept[k] + change;
        row->parameters[k] -= (float)step->lr * change;
    }
}

static void update_adagrad(const struct optimizer_step *step, const struct optimizer_row *row)
{
    float *sum = row->state[0];
    for (uint32_t k = 0; k < row->width; k++) {
        float gradient = decayed(step, row, k);
        sum[k] += gradient * gradient;
        row->parameters[k] -=
            (float)step->lr * gradient / (sqrtf(sum[k]) + (float)step->options->epsilon);
    }
}

static void move_adam(const struct optimizer_step *step, const struct optimizer_row *row,
                      uint32_t k, float gradient)
{
    float beta1 = (float)step->options->beta1, beta2 = (float)step->options->beta2;
    float rest1 = (float)(1.0 - step->options->beta1), rest2 = (float)(1.0 - step->options->beta2);
    float *mean = &row->state[0][k], *square = &row->state[1][k];
    *mean = beta1 * *mean + rest1 * gradient;
    *square = beta2 * *square + rest2 * gradient * gradient;
    float scale = sqrtf(*square) / step->bias2_root + (float)step->options->epsilon;
    row->parameters[k] -= (float)(step->lr / step->bias1) * (*mean / scale);
}

static void update_adam(const struct optimizer_step *step, const struct optimizer_row *row)
{
    for (uint32_t k = 0; k < row->width; k++)
        move_adam(step, row, k, decayed(step, row, k));
}

static void update_adamw(const struct optimizer_step *step, const struct optimizer_row *row)
{
    float kept = (float)(1.0 - step->lr * step->options->weight_decay);
    for (uint32_t k = 0; k < row->width; k++) {
        row->parameters[k] *= kept;
        move_adam(step, row, k, row->gradient[k]);
    }
}

static const struct cfg_plugin *const ALL[] = {
#define X(name_, summary_, keys, blocks, update_)         \
    &(const struct optimizer){                            \
        .name = name_,                                    \
        .summary = summary_,                              \
        .options = keys,                                  \
        .options_size = sizeof(struct optimizer_options), \
        .state_blocks = blocks,                           \
        .update = update_,                                \
    }                                                     \
         .plugin,
    OPTIMIZERS(X)
#undef X
};

const struct cfg_registry TRAINER_OPTIMIZERS = {
    .what = "optimizer",
    .key = "name",
    .expected = "a name, or {name: NAME, its options}",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

struct optimizer_step trainer_optimizer_step(const struct optimizer_options *options, double lr,
                                             uint64_t number)
{
    return (struct optimizer_step){
        .options = options,
        .lr = lr,
        .bias1 = 1.0 - weir_pow(options->beta1, (double)number),
        .bias2_root = (float)sqrt(1.0 - weir_pow(options->beta2, (double)number)),
    };
}

void trainer_optimizer_apply(const struct optimizer *optimizer, const struct optimizer_step *step,
                             const struct gradient_part *part, const struct optimizer_block *block)
{
    const struct gradient *gradient = part->gradient;
    struct optimizer_row row = {.width = gradient->width};
    GRADIENT_STRIPES_OF(part, stripe)
    for (size_t i = 0; i < gradient->touched[stripe].count; i++) {
        size_t at = (size_t)gradient->touched[stripe].at[i] * gradient->width;
        row.gradient = gradient->block + at;
        row.parameters = block->parameters + at;
        for (uint32_t b = 0; b < block->blocks; b++)
            row.state[b] = block->state + b * block->stride + at;
        optimizer->update(step, &row);
    }
}
