/* boxcox: dense or ragged floats → (x^lambda - 1) / lambda, ln x for lambda 0 (Box & Cox, 1964). It
 * is defined above 0 only: what lies below `floor` is taken as it. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include "core/base/elementary.h"

struct options {
    const char *on;
    const char *lambda;
    const char *floor;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_TEXT(struct options, lambda, .fallback = "0", .doc = "the exponent; 0 is the logarithm"),
    CFG_TEXT(struct options, floor, .fallback = "1e-6", .doc = "least number, above 0"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    double lambda, floor;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_FLOATS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    bool is_right = preprocess_number_read(weir_bytes_of(options->lambda), &state->lambda) &&
                    preprocess_number_read(weir_bytes_of(options->floor), &state->floor) &&
                    state->floor > 0;
    if (!is_right)
        return weir_fail(err, WEIR_INVALID,
                         "found lambda %s and floor %s, expected numbers, and a floor above 0",
                         options->lambda, options->floor);
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    state->type = ret_plan->output[0].type;
    return WEIR_OK;
}

static double transform(const struct state *state, double x)
{
    double logarithm = weir_ln(x < state->floor ? state->floor : x);
    return state->lambda == 0 ? logarithm : weir_expm1(state->lambda * logarithm) / state->lambda;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    for (size_t i = 0; i < made.count; i++) {
        double x = weir_element_get(state->type, made.from, i);
        weir_element_put(state->type, made.to, i, transform(state, x));
    }
}

const struct preprocess_operator preprocess_operator_boxcox = {
    .name = "boxcox",
    .summary = "the Box-Cox power transformation",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
