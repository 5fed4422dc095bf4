/* normalize: pictures of one size → f32, (pixel / 255 - mean) / std per channel. When `to_chw` follows,
 * the planes are written at once. */
#include "preprocess/operators/pictures/chw.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { CHANNELS_MAX = 3, LEVELS = 256 };

struct options {
    const char *on;
    struct cfg_texts mean, std;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures of one size"),
    CFG_TEXTS(struct options, mean, .doc = "one number, or one per channel; by default 0"),
    CFG_TEXTS(struct options, std, .doc = "one number, or one per channel; by default 1"),
    CFG_END,
};

struct state {
    size_t channels, pixels; /* of a row */
    float factor[CHANNELS_MAX], offset[CHANNELS_MAX];
    bool planes;    /* CHW instead of HWC */
    uint8_t *plane; /* scratch: a picture in planes */
};

static enum weir_status read_channels(const char *name, struct cfg_texts texts, double least,
                                      size_t channels, double *values, struct weir_error *err)
{
    const struct picture_numbers from = {name, texts, channels, least, 1e6};
    return texts.count > 0 ? preprocess_picture_read_numbers(&from, values, err) : WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    double mean[CHANNELS_MAX] = {0, 0, 0}, std[CHANNELS_MAX] = {1, 1, 1};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->kind != COLUMN_DENSE)
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds pictures of any size, expected one size: crop or resize "
                         "them first",
                         about->name);
    weir_require(about->shape[2] <= CHANNELS_MAX);
    state->channels = about->shape[2];
    state->pixels = (size_t)about->shape[0] * about->shape[1];
    status = read_channels("mean", options->mean, -1e6, state->channels, mean, err);
    if (status == WEIR_OK)
        status = read_channels("std", options->std, 1e-6, state->channels, std, err);
    for (size_t c = 0; c < state->channels; c++) {
        state->factor[c] = (float)(1 / (LEVELS - 1.0) / std[c]);
        state->offset[c] = (float)(-mean[c] / std[c]);
    }
    ret_plan->outputs = 1;
    ret_plan->output[0] = *about;
    ret_plan->output[0].type = WEIR_F32;
    return status;
}

static void fini(void *owner)
{
    free(((struct state *)owner)->plane);
}

static bool join(void *owner, const struct operator_next *next, struct column_about *output)
{
    struct state *state = owner;
    if (next->op != &preprocess_operator_to_chw || state->planes)
        return false;
    state->planes = true;
    state->plane = weir_calloc(state->pixels, state->channels);
    *output = preprocess_chw_about(output);
    return true;
}

WEIR_CLONES
static void scale(const uint8_t *from, size_t count, float factor, float offset, float *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * factor + offset;
}

WEIR_CLONES
static void scale_pixels(const uint8_t *from, size_t pixels, const struct state *state,
                         float *restrict to)
{
    const float *factor = state->factor, *offset = state->offset;
    for (size_t i = 0; i < pixels; i++) {
        for (size_t c = 0; c < 3; c++)
            to[3 * i + c] = from[3 * i + c] * factor[c] + offset[c];
    }
}

static void scale_row(const struct state *state, const uint8_t *from, float *to)
{
    size_t pixels = state->pixels;
    if (state->planes && state->channels == 3) {
        preprocess_chw_split(from, pixels, state->plane);
        from = state->plane;
    }
    if (state->planes || state->channels == 1) {
        for (size_t c = 0; c < state->channels; c++)
            scale(from + c * pixels, pixels, state->factor[c], state->offset[c], to + c * pixels);
        return;
    }
    scale_pixels(from, pixels, state, to);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    size_t width = state->pixels * state->channels;
    struct weir_buf *values = &call->out[0].values;
    weir_buf_reserve(values, call->rows * width * sizeof(float));
    for (size_t row = 0; row < call->rows; row++) {
        float *to = (float *)(void *)(values->at + values->size);
        scale_row(state, call->in->values.at + row * width, to);
        values->size += width * sizeof(float);
    }
}

static const struct operator_fusion FUSION = {
    .join = join,
};

const struct preprocess_operator preprocess_operator_normalize = {
    .name = "normalize",
    .summary = "pictures to f32, (pixel / 255 - mean) / std per channel",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .fusion = &FUSION,
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
