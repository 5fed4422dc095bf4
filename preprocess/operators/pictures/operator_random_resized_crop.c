/* random_resized_crop: a part of each picture by chance, made into one size (Szegedy et al., "Going
 * Deeper with Convolutions", 2015). Options and draws mean what they mean in torchvision: a share
 * of the area and an aspect ratio, tried ten times; then the middle. Outside of training it is
 * always the largest part of that aspect ratio in the middle. */
#include "preprocess/operators/pictures/flip.h"

#include "core/base/elementary.h"

#include <math.h>

enum { TRIES = 10 };

struct options {
    const char *on;
    struct cfg_texts size, scale, ratio;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_TEXTS(struct options, size, .required = true,
              .doc = "of what it makes: one number, or [height, width]"),
    CFG_TEXTS(struct options, scale,
              .doc = "[least, most] share of the area; by default [0.08, 1]"),
    CFG_TEXTS(struct options, ratio,
              .doc = "[least, most] width to height, drawn on a logarithmic scale; by default "
                     "[0.75, 1.3333333333333333]"),
    CFG_END,
};

struct state {
    uint32_t size[2];
    struct picture_range scale, log_ratio;
    struct resampler resampler;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    const struct picture_numbers scale = {"scale", options->scale, 2, 0.001, 1};
    const struct picture_numbers ratio = {"ratio", options->ratio, 2, 0.001, 1000};
    struct picture_range ratios = {3.0 / 4, 4.0 / 3};
    state->scale = (struct picture_range){0.08, 1};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_size(options->size, state->size, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_range(&scale, &state->scale, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_range(&ratio, &ratios, err);
    if (status != WEIR_OK)
        return status;
    state->log_ratio = (struct picture_range){weir_ln(ratios.least), weir_ln(ratios.most)};
    ret_plan->outputs = 1;
    return preprocess_picture_dense(&schema->column[ret_plan->in], state->size[0], state->size[1],
                                    &ret_plan->output[0], err);
}

static void fini(void *owner)
{
    preprocess_resampler_fini(&((struct state *)owner)->resampler);
}

/* The largest part in the middle whose aspect ratio is allowed. */
static struct picture_window middle(const struct state *state, uint32_t height, uint32_t width)
{
    double ratio = (double)width / height;
    uint32_t part_width = width, part_height = height;
    if (ratio < weir_exp(state->log_ratio.least))
        part_height = (uint32_t)nearbyint(width / weir_exp(state->log_ratio.least));
    else if (ratio > weir_exp(state->log_ratio.most))
        part_width = (uint32_t)nearbyint(height * weir_exp(state->log_ratio.most));
    part_height = part_height > 0 ? part_height : 1;
    part_width = part_width > 0 ? part_width : 1;
    return (struct picture_window){.top = (height - part_height) / 2,
                                   .left = (width - part_width) / 2,
                                   .height = part_height,
                                   .width = part_width};
}

static struct picture_window any(const struct state *state, struct weir_rng *rng, uint32_t height,
                                 uint32_t width)
{
    for (int i = 0; i < TRIES; i++) {
        double area = (double)height * width * preprocess_picture_draw(rng, state->scale);
        double ratio = weir_exp(preprocess_picture_draw(rng, state->log_ratio));
        double part_width = nearbyint(sqrt(area * ratio));
        double part_height = nearbyint(sqrt(area / ratio));
        if (part_width < 1 || part_width > width || part_height < 1 || part_height > height)
            continue;
        struct picture_window part = {.height = (uint32_t)part_height,
                                      .width = (uint32_t)part_width};
        part.top = (uint32_t)weir_rng_below(rng, (uint64_t)height - part.height + 1);
        part.left = (uint32_t)weir_rng_below(rng, (uint64_t)width - part.width + 1);
        return part;
    }
    return middle(state, height, width);
}

static struct picture_window window(const void *owner, const struct operator_call *call, size_t row,
                                    uint32_t height, uint32_t width)
{
    const struct state *state = owner;
    struct weir_rng rng;
    preprocess_operator_draw(call, row, call->step, &rng);
    struct picture_window part =
        call->batch->trains ? any(state, &rng, height, width) : middle(state, height, width);
    part.out_height = state->size[0];
    part.out_width = state->size[1];
    return part;
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        if (from.place.height == 0) {
            preprocess_picture_add_none(&call->out[0]);
            continue;
        }
        struct mirror mirror = {0};
        if (call->next != NULL)
            mirror = preprocess_flip_draw(call->next->state, call, row, call->next->step);
        struct picture_window part =
            window(state, call, row, from.place.whole_height, from.place.whole_width);
        uint8_t *to = preprocess_picture_add(&call->out[0], part.out_height, part.out_width);
        preprocess_resample(&state->resampler, &from, &part, mirror, to);
    }
}

const struct preprocess_operator preprocess_operator_random_resized_crop = {
    .name = "random_resized_crop",
    .summary = "a part of each picture by chance, made into one size",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .absorbs = &preprocess_operator_flip,
    .traits = OPERATOR_VARIES,
    .plan = plan,
    .apply = apply,
    .window = window,
    .by_row = true,
    .fini = fini,
};
