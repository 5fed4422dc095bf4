/* to_chw: pixels row by row (HWC) → planes, one per channel (CHW), of u8 or f32. */
#include "preprocess/operators/pictures/chw.h"

#include <string.h>

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of shape HWC"),
    CFG_END,
};

struct state {
    size_t pixels, channels, unit;
};

static bool is_hwc(const struct column_about *about)
{
    return about->kind == COLUMN_DENSE && (about->shape[2] == 1 || about->shape[2] == 3);
}

struct column_about preprocess_chw_about(const struct column_about *about)
{
    struct column_about planes = *about;
    planes.shape[0] = about->shape[2];
    planes.shape[1] = about->shape[0];
    planes.shape[2] = about->shape[1];
    return planes;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    int found = -1;
    for (size_t i = 0; i < schema->count; i++) {
        bool is_named = options->on == NULL || weir_str_equal(options->on, schema->column[i].name);
        if (is_named && is_hwc(&schema->column[i]))
            found = (int)i;
    }
    if (found < 0)
        return weir_fail(err, WEIR_INVALID, "expected %s%s of one size and one or three channels",
                         options->on != NULL ? "pictures in column " : "a column of pictures",
                         options->on != NULL ? options->on : "");
    const struct column_about *about = &schema->column[found];
    *state = (struct state){.pixels = (size_t)about->shape[0] * about->shape[1],
                            .channels = about->shape[2],
                            .unit = weir_dtype_bytes(about->type)};
    ret_plan->in = found;
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_chw_about(about);
    return WEIR_OK;
}

WEIR_CLONES
void preprocess_chw_split(const uint8_t *from, size_t pixels, uint8_t *restrict to)
{
    for (size_t i = 0; i < pixels; i++) {
        to[i] = from[3 * i];
        to[pixels + i] = from[3 * i + 1];
        to[2 * pixels + i] = from[3 * i + 2];
    }
}

static void split_any(const uint8_t *from, const struct state *state, uint8_t *to)
{
    size_t unit = state->unit;
    for (size_t c = 0; c < state->channels; c++) {
        for (size_t i = 0; i < state->pixels; i++, to += unit)
            memcpy(to, from + (i * state->channels + c) * unit, unit);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    size_t bytes = state->pixels * state->channels * state->unit;
    struct weir_buf *values = &call->out[0].values;
    weir_buf_reserve(values, call->rows * bytes);
    for (size_t row = 0; row < call->rows; row++) {
        const uint8_t *from = call->in->values.at + row * bytes;
        if (state->unit == 1 && state->channels == 3)
            preprocess_chw_split(from, state->pixels, values->at + values->size);
        else
            split_any(from, state, values->at + values->size);
        values->size += bytes;
    }
}

const struct preprocess_operator preprocess_operator_to_chw = {
    .name = "to_chw",
    .summary = "pictures as planes, one per channel",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
