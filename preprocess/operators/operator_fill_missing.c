/* fill_missing: a number in the place of those that are missing: NaN in floats, and the one number
 * that stands for "missing" in the data, if there is one. Dense or ragged. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <math.h>

struct options {
    const char *on;
    const char *value;
    const char *missing;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_TEXT(struct options, value, .fallback = "0", .doc = "number that is put in"),
    CFG_TEXT(struct options, missing,
             .doc = "number that means missing, besides NaN; integers need one"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    union numeric value, missing; /* in the type of the column */
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
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    state->type = ret_plan->output[0].type;
    bool is_float = (OPERATOR_FLOATS & 1 << state->type) != 0;
    if (!is_float && options->missing == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds %s, expected missing: the number that means it",
                         ret_plan->output[0].name, weir_dtype_name(state->type));
    status =
        preprocess_numeric_read_option(state->type, "value", options->value, &state->value, err);
    if (status == WEIR_OK && options->missing != NULL)
        status = preprocess_numeric_read_option(state->type, "missing", options->missing,
                                                &state->missing, err);
    else if (status == WEIR_OK)
        weir_element_put(state->type, &state->missing, 0, NAN);
    double value = weir_element_get(state->type, &state->value, 0);
    if (value < 0 || value >= (double)ret_plan->output[0].below)
        preprocess_column_bound(&ret_plan->output[0], 0);
    return status;
}

typedef void fill(const struct state *state, const void *values, size_t count, void *ret_values);

/* A value that differs from itself is NaN. */
#define X(name, ctype)                                                                        \
    WEIR_CLONES static void fill_##name(const struct state *state, const void *values,        \
                                        size_t count, void *ret_values)                       \
    {                                                                                         \
        const ctype *from = values, value = state->value.name, missing = state->missing.name; \
        ctype *to = ret_values;                                                               \
        for (size_t i = 0; i < count; i++)                                                    \
            to[i] = from[i] == missing || !(from[i] == from[i]) ? value : from[i];            \
    }
WEIR_ELEMENT_TYPES(X)
#undef X

static void apply(void *owner, struct operator_call *call)
{
    static fill *const FILLS[] = {
#define X(name, ctype) [WEIR_##name] = fill_##name,
        WEIR_ELEMENT_TYPES(X)
#undef X
    };
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    FILLS[state->type](state, made.from, made.count, made.to);
}

const struct preprocess_operator preprocess_operator_fill_missing = {
    .name = "fill_missing",
    .summary = "a number in the place of missing ones",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
