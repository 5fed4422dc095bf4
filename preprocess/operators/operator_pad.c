/* pad: a ragged tensor → a dense one: short rows are filled up, long ones lose their end. With
 * `lengths`, a second tensor NAME_length says how many numbers of each row were there. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <stdio.h>
#include <string.h>

static const char *const SIDES[] = {"end", "start", NULL};
enum { AT_END, AT_START };

struct options {
    const char *on;
    uint64_t length;
    const char *value;
    int side;
    bool lengths;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of ragged"),
    CFG_U64(struct options, length, .required = true, .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "numbers of every row"),
    CFG_TEXT(struct options, value, .fallback = "0", .doc = "number that is put in"),
    CFG_CHOICE(struct options, side, .fallback = "end", .choices = SIDES,
               .doc = "end of the row that is filled up"),
    CFG_BOOL(struct options, lengths, .fallback = "false", .doc = "make the second tensor"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    size_t length;
    union numeric value;
    int side;
    bool lengths;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_RAGGED, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    *state = (struct state){.type = about->type,
                            .length = options->length,
                            .side = options->side,
                            .lengths = options->lengths};
    char name[COLUMN_NAME_MAX];
    snprintf(name, sizeof(name), "%.20s_length", about->name);
    ret_plan->outputs = options->lengths ? 2 : 1;
    ret_plan->output[0] =
        preprocess_column_about(about->name, COLUMN_DENSE, about->type, (uint32_t)options->length);
    ret_plan->output[1] = preprocess_column_about(name, COLUMN_DENSE, WEIR_I32, 1);
    return preprocess_numeric_read_option(state->type, "value", options->value, &state->value, err);
}

static void fill(const struct state *state, uint8_t *to, size_t count)
{
    size_t unit = weir_dtype_bytes(state->type);
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * unit, &state->value, unit);
}

static void pad_row(const struct state *state, struct weir_bytes row, uint8_t *to)
{
    size_t unit = weir_dtype_bytes(state->type), count = row.size / unit;
    size_t missing = state->length - count;
    fill(state, state->side == AT_START ? to : to + row.size, missing);
    memcpy(state->side == AT_START ? to + missing * unit : to, row.at, row.size);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    const uint32_t *offsets = column_offsets(call->in);
    struct weir_buf *values = &call->out[0].values;
    size_t unit = weir_dtype_bytes(state->type), row_bytes = state->length * unit;
    weir_buf_reserve(values, call->rows * row_bytes);
    for (size_t i = 0; i < call->rows; i++) {
        size_t count = offsets[i + 1] - offsets[i];
        count = count < state->length ? count : state->length;
        pad_row(state, weir_bytes(call->in->values.at + offsets[i] * unit, count * unit),
                values->at + i * row_bytes);
        if (state->lengths)
            weir_buf_append(&call->out[1].values, &(int32_t){(int32_t)count}, sizeof(int32_t));
    }
    values->size = call->rows * row_bytes;
}

const struct preprocess_operator preprocess_operator_pad = {
    .name = "pad",
    .summary = "ragged rows filled up to one length",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
};
