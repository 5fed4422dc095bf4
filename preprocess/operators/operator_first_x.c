/* first_x: the first numbers of each row: at most so many of a ragged tensor, exactly so many of a
 * dense one. */
#include "preprocess/operators/operator.h"

#include <string.h>

struct options {
    const char *on;
    uint64_t count;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, count, .required = true, .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "numbers kept of each row"),
    CFG_END,
};

struct state {
    size_t count;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_NUMBERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    state->count = options->count;
    ret_plan->outputs = 1;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->kind == COLUMN_DENSE && about->width < state->count)
        return weir_fail(err, WEIR_INVALID, "column %s has %u numbers a row, expected at least %zu",
                         about->name, about->width, state->count);
    ret_plan->output[0] =
        preprocess_column_about(about->name, about->kind, about->type,
                                about->kind == COLUMN_DENSE ? (uint32_t)state->count : 0);
    ret_plan->output[0].below = about->below;
    ret_plan->output[0].bounded_by = about->bounded_by;
    return WEIR_OK;
}

static void take(struct column *out, const uint8_t *at, size_t bytes)
{
    memcpy(out->values.at + out->values.size, at, bytes);
    out->values.size += bytes;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column *out = &call->out[0];
    const struct column *in = call->in;
    size_t unit = weir_dtype_bytes(in->about.type), width = in->about.width;
    const uint32_t *offsets = column_offsets(in);
    weir_buf_reserve(&out->values, in->values.size);
    for (size_t i = 0; i < call->rows && in->about.kind == COLUMN_DENSE; i++)
        take(out, in->values.at + i * width * unit, state->count * unit);
    for (size_t i = 0; i < call->rows && in->about.kind == COLUMN_RAGGED; i++) {
        size_t length = offsets[i + 1] - offsets[i];
        take(out, in->values.at + offsets[i] * unit,
             (length < state->count ? length : state->count) * unit);
        preprocess_column_end_row(out);
    }
}

const struct preprocess_operator preprocess_operator_first_x = {
    .name = "first_x",
    .summary = "the first numbers of each row",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_SELECTS,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
