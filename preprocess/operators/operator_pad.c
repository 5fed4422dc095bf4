/* pad: a ragged tensor → a dense one: short rows are filled up, long ones lose their end. With
 * `lengths`, a second tensor NAME_length says how many numbers of each row were there. */
#include "core/base/utf8.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/tensor_maker.h"

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
    struct tensor_maker maker;
    bool lengths;
};

static enum weir_status plan_step(const struct options *options, enum weir_dtype type,
                                  struct weir_tensor_step *ret_step, struct weir_error *err)
{
    union numeric value = {0};
    enum weir_status status =
        preprocess_numeric_read_option(type, "value", options->value, &value, err);
    *ret_step = (struct weir_tensor_step){.kind = WEIR_STEP_PAD,
                                          .count = (uint32_t)options->length,
                                          .option = options->side == AT_START};
    memcpy(&ret_step->value, &value, sizeof(value));
    return status;
}

/* Zero is below any bound. */
static void keep_bound(const struct column_about *about, const struct weir_tensor_step *step,
                       struct column_about *made)
{
    double value = weir_element_get(about->type, &step->value, 0);
    bool is_below = value >= 0 && value < (double)about->below;
    if (value != 0 && !is_below)
        return;
    made->below = about->below;
    made->bounded_by = about->bounded_by;
}

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
    state->lengths = options->lengths;
    status = plan_step(options, about->type, &state->maker.step, err);
    if (status == WEIR_OK)
        status = preprocess_tensor_maker_plan(&state->maker, about, ret_plan, err);
    keep_bound(about, &state->maker.step, &ret_plan->output[0]);
    char name[COLUMN_NAME_MAX];
    weir_utf8_print(name, sizeof(name), "%.20s_length", about->name);
    ret_plan->output[1] = preprocess_column_about(name, COLUMN_DENSE, WEIR_I32, 1);
    ret_plan->outputs += options->lengths;
    return status;
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    const uint32_t *offsets = column_offsets(call->in);
    size_t length = state->maker.step.count;
    preprocess_tensor_maker_apply(&state->maker, call);
    for (size_t i = 0; i < call->rows && state->lengths; i++) {
        size_t count = offsets[i + 1] - offsets[i];
        int32_t kept = (int32_t)(count < length ? count : length);
        weir_buf_append(&call->out[1].values, &kept, sizeof(kept));
    }
}

/* The consumer makes one tensor of one other: lengths would be a second. */
static const struct weir_tensor_step *step(const void *owner)
{
    const struct state *state = owner;
    return state->lengths ? NULL : &state->maker.step;
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
    .by_row = true,
    .step = step,
};
