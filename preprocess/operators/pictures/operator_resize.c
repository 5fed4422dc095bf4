/* resize: pictures in another size, bilinear with antialias: [height, width], or with one number for the
 * shorter side, each in its own proportions. */
#include "preprocess/operators/pictures/resample.h"

struct options {
    const char *on;
    struct cfg_texts size;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_TEXTS(struct options, size, .required = true,
              .doc = "[height, width]; one number: of the shorter side, the other one follows"),
    CFG_END,
};

struct state {
    uint32_t size[2];
    bool keeps_ratio;
    struct resampler resampler;
};

static struct picture_window window(const void *owner, const struct operator_call *call, size_t row,
                                    uint32_t height, uint32_t width)
{
    (void)call, (void)row;
    const struct state *state = owner;
    struct picture_window all = {.height = height,
                                 .width = width,
                                 .out_height = state->size[0],
                                 .out_width = state->size[1]};
    if (state->keeps_ratio && height < width)
        all.out_width = (uint32_t)((uint64_t)state->size[0] * width / height);
    else if (state->keeps_ratio)
        all.out_height = (uint32_t)((uint64_t)state->size[1] * height / width);
    return all;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_size(options->size, state->size, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    state->keeps_ratio = options->size.count == 1;
    ret_plan->outputs = 1;
    ret_plan->output[0] = *about;
    if (state->keeps_ratio && about->kind == COLUMN_PICTURES)
        return WEIR_OK;
    uint32_t height = state->size[0], width = state->size[1];
    if (state->keeps_ratio) {
        struct picture_window all = window(state, NULL, 0, about->shape[0], about->shape[1]);
        height = all.out_height;
        width = all.out_width;
    }
    return preprocess_picture_dense(about, height, width, &ret_plan->output[0], err);
}

static void fini(void *owner)
{
    preprocess_resampler_fini(&((struct state *)owner)->resampler);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        const struct picture_place *place = &from.place;
        struct picture_window all = {0};
        if (place->height > 0)
            all = window(state, call, row, place->whole_height, place->whole_width);
        bool is_long = all.out_height > PICTURE_SIDE_MAX || all.out_width > PICTURE_SIDE_MAX;
        if (is_long)
            preprocess_operator_fail_row(call, row,
                                         "it would be %u x %u pixels, expected at most %d a side",
                                         all.out_height, all.out_width, PICTURE_SIDE_MAX);
        if (is_long || place->height == 0 ||
            !preprocess_picture_fits(call, row, all.out_height, all.out_width))
            preprocess_picture_add_none(&call->out[0]);
        else
            preprocess_resample(
                &state->resampler, &from, &all, (struct mirror){0},
                preprocess_picture_add(&call->out[0], all.out_height, all.out_width));
    }
}

const struct preprocess_operator preprocess_operator_resize = {
    .name = "resize",
    .summary = "pictures in another size, bilinear with antialias",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_RESAMPLES,
    .plan = plan,
    .apply = apply,
    .window = window,
    .by_row = true,
    .fini = fini,
};
