/* one_hot: numbers in [0, classes) → dense f32. Each number of a dense row has `classes` places of its
 * own, 1 at the number and 0 elsewhere; a ragged row has `classes` places in all, 1 at each number it
 * holds. */
#include "core/wire/element.h"
#include "preprocess/operators/tensor_maker.h"

static const char *const UNKNOWN[] = {"zeros", "fail", NULL};
enum { UNKNOWN_ZEROS, UNKNOWN_FAIL };

struct options {
    const char *on;
    uint64_t classes;
    int unknown;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, classes, .required = true, .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "numbers are in [0, classes)"),
    CFG_CHOICE(struct options, unknown, .fallback = "zeros", .choices = UNKNOWN,
               .doc = "a number outside: no 1 for it, or the sample fails"),
    CFG_END,
};

struct state {
    struct tensor_maker maker;
    int unknown;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS | 1u << WEIR_U8, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    uint64_t numbers = about->kind == COLUMN_DENSE ? about->width : 1;
    if (numbers * options->classes > COLUMN_WIDTH_MAX)
        return weir_fail(err, WEIR_LIMIT, "%lu numbers of %lu classes, expected at most %d places",
                         numbers, options->classes, COLUMN_WIDTH_MAX);
    state->unknown = options->unknown;
    state->maker.step =
        (struct weir_tensor_step){.kind = WEIR_STEP_ONE_HOT, .count = (uint32_t)options->classes};
    ret_plan->traits = options->unknown == UNKNOWN_ZEROS ? OPERATOR_TOTAL : 0;
    return preprocess_tensor_maker_plan(&state->maker, about, ret_plan, err);
}

/* Fails a row that holds a number outside. */
static void check_row(const struct state *state, struct operator_call *call, size_t row,
                      size_t first, size_t end)
{
    uint32_t classes = state->maker.step.count;
    for (size_t i = first; i < end; i++) {
        int64_t number = weir_element_get_integer(call->in->about.type, call->in->values.at, i);
        if (number < 0 || number >= (int64_t)classes)
            preprocess_operator_fail_row(call, row, "found number %ld, expected 0 to %u", number,
                                         classes - 1);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    size_t width = call->in->about.width;
    const uint32_t *offsets = column_offsets(call->in);
    for (size_t i = 0; i < call->rows && state->unknown == UNKNOWN_FAIL; i++) {
        bool is_dense = call->in->about.kind == COLUMN_DENSE;
        check_row(state, call, i, is_dense ? i * width : offsets[i],
                  is_dense ? (i + 1) * width : offsets[i + 1]);
    }
    preprocess_tensor_maker_apply(&state->maker, call);
}

static const struct weir_tensor_step *step(const void *owner)
{
    const struct state *state = owner;
    return state->unknown == UNKNOWN_ZEROS ? &state->maker.step : NULL;
}

const struct preprocess_operator preprocess_operator_one_hot = {
    .name = "one_hot",
    .summary = "numbers of classes to rows of zeros and ones",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .step = step,
};
