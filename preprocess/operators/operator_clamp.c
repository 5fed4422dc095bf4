/* clamp: numbers below min become min, those above max become max; NaN stays. Dense or ragged. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <math.h>

struct options {
    const char *on;
    const char *min;
    const char *max;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_TEXT(struct options, min, .doc = "least number"),
    CFG_TEXT(struct options, max, .doc = "greatest number"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    union numeric min, max; /* in the type of the column */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    double min = -INFINITY, max = INFINITY;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_NUMBERS, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_number_read_option("min", options->min, &min, err);
    if (status == WEIR_OK)
        status = preprocess_number_read_option("max", options->max, &max, err);
    if (status == WEIR_OK && (min > max || (options->min == NULL && options->max == NULL)))
        status = weir_fail(err, WEIR_INVALID,
                           "found min %g and max %g, expected one, or min <= max", min, max);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    if (min >= (double)ret_plan->output[0].below || max < 0)
        preprocess_column_bound(&ret_plan->output[0], 0);
    state->type = ret_plan->output[0].type;
    bool is_float = (OPERATOR_FLOATS & 1 << state->type) != 0;
    weir_element_put(state->type, &state->min, 0, is_float ? min : ceil(min));
    weir_element_put(state->type, &state->max, 0, is_float ? max : floor(max));
    return WEIR_OK;
}

typedef void clamp(const struct state *state, const void *values, size_t count, void *ret_values);

#define X(name, ctype)                                                                  \
    WEIR_CLONES static void clamp_##name(const struct state *state, const void *values, \
                                         size_t count, void *ret_values)                \
    {                                                                                   \
        const ctype *from = values, min = state->min.name, max = state->max.name;       \
        ctype *to = ret_values;                                                         \
        for (size_t i = 0; i < count; i++) {                                            \
            ctype low = from[i] < min ? min : from[i];                                  \
            to[i] = low > max ? max : low;                                              \
        }                                                                               \
    }
WEIR_ELEMENT_TYPES(X)
#undef X

static void apply(void *owner, struct operator_call *call)
{
    static clamp *const CLAMPS[] = {
#define X(name, ctype) [WEIR_##name] = clamp_##name,
        WEIR_ELEMENT_TYPES(X)
#undef X
    };
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    CLAMPS[state->type](state, made.from, made.count, made.to);
}

const struct preprocess_operator preprocess_operator_clamp = {
    .name = "clamp",
    .summary = "numbers brought within bounds",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
