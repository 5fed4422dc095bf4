/* flip: pictures mirrored by chance, while training. A crop before it does the work on the way. */
#include "preprocess/operators/pictures/flip.h"

#include <string.h>

struct options {
    const char *on;
    double horizontal, vertical;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_F64(struct options, horizontal, .fallback = "0.5", .max = 1,
            .doc = "probability that left and right change places"),
    CFG_F64(struct options, vertical, .fallback = "0", .max = 1,
            .doc = "probability that top and bottom change places"),
    CFG_END,
};

struct state {
    double horizontal, vertical;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    *state = (struct state){options->horizontal, options->vertical};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    return WEIR_OK;
}

struct mirror preprocess_flip_draw(const void *owner, const struct operator_call *call, size_t row,
                                   uint32_t step)
{
    const struct state *state = owner;
    struct weir_rng rng;
    preprocess_operator_draw(call, row, step, &rng);
    bool horizontal = weir_rng_unit(&rng) < state->horizontal;
    bool vertical = weir_rng_unit(&rng) < state->vertical;
    return (struct mirror){horizontal && call->batch->trains, vertical && call->batch->trains};
}

static void copy_row(const uint8_t *from, size_t pixels, size_t channels, bool mirrored,
                     uint8_t *to)
{
    if (!mirrored) {
        memcpy(to, from, pixels * channels);
        return;
    }
    for (size_t x = 0; x < pixels; x++) {
        const uint8_t *pixel = from + (pixels - 1 - x) * channels;
        for (size_t c = 0; c < channels; c++)
            *to++ = pixel[c];
    }
}

static void apply(void *owner, struct operator_call *call)
{
    for (size_t i = 0; i < call->rows; i++) {
        struct picture from = preprocess_picture_at(call->in, i);
        struct mirror mirror = preprocess_flip_draw(owner, call, i, call->step);
        size_t height = from.place.height, width = from.place.width;
        size_t stride = width * from.channels;
        uint8_t *to = preprocess_picture_add(&call->out[0], from.place.height, from.place.width);
        for (size_t y = 0; y < height; y++)
            copy_row(from.at + (mirror.vertical ? height - 1 - y : y) * stride, width,
                     from.channels, mirror.horizontal, to + y * stride);
    }
}

const struct preprocess_operator preprocess_operator_flip = {
    .name = "flip",
    .summary = "pictures mirrored by chance, while training",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_NEARLY_ELEMENTWISE | OPERATOR_VARIES,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
