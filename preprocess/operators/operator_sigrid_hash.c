/* sigrid_hash: ids of any size → i64 numbers in [0, max_value), dense or ragged: what hash_mod does
 * with names, type and range of the recommendation systems that the hash comes from (sigrid.h). */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"
#include "preprocess/operators/sigrid.h"

struct options {
    const char *on;
    uint64_t max_value;
    uint64_t salt;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, max_value, .required = true, .min = 1,
            .doc = "numbers are in [0, max_value)"),
    CFG_U64(struct options, salt, .fallback = "0", .doc = "another salt, other collisions"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    struct sigrid sigrid;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    if (options->max_value > INT64_MAX)
        return weir_fail(err, WEIR_INVALID, "max_value %lu, expected at most %ld",
                         options->max_value, INT64_MAX);
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    state->type = about->type;
    state->sigrid = sigrid_of(options->max_value, options->salt);
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about_as(about, WEIR_I64);
    preprocess_column_bound(&ret_plan->output[0], options->max_value);
    return WEIR_OK;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    int64_t *to = made.to;
    for (size_t i = 0; i < made.count; i++)
        to[i] = (int64_t)sigrid_hash(&state->sigrid,
                                     weir_element_get_integer(state->type, made.from, i));
}

const struct preprocess_operator preprocess_operator_sigrid_hash = {
    .name = "sigrid_hash",
    .summary = "ids to hashed 64-bit numbers below a bound",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
