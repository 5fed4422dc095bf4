/* modulo: integers → the same modulo a number, floored: from 0 to it, for negative ones too. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

enum { DIVISOR_MAX = 1 << 30 };

struct options {
    const char *on;
    uint64_t by;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, by, .required = true, .min = 1, .max = DIVISOR_MAX,
            .doc = "numbers come out in [0, by)"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    int64_t by;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    preprocess_column_bound(&ret_plan->output[0], options->by);
    *(struct state *)owner =
        (struct state){.type = ret_plan->output[0].type, .by = (int64_t)options->by};
    return WEIR_OK;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    for (size_t i = 0; i < made.count; i++) {
        int64_t rest = weir_element_get_integer(state->type, made.from, i) % state->by;
        weir_element_put(state->type, made.to, i, (double)(rest < 0 ? rest + state->by : rest));
    }
}

const struct preprocess_operator preprocess_operator_modulo = {
    .name = "modulo",
    .summary = "integers modulo a number, never negative",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
