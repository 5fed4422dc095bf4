/* hash_mod: ids of any size → i32 numbers in [0, buckets), dense or ragged (sigrid.h). */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"
#include "preprocess/operators/sigrid.h"

struct options {
    const char *on;
    uint64_t buckets;
    uint64_t salt;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, buckets, .required = true, .min = 1, .max = 1 << 30,
            .doc = "numbers are in [0, buckets)"),
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
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    state->type = about->type;
    state->sigrid = sigrid_of(options->buckets, options->salt);
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about_as(about, WEIR_I32);
    preprocess_column_bound(&ret_plan->output[0], options->buckets);
    return WEIR_OK;
}

/* The commonest type has a loop of its own. */
static void hash_i32(const struct sigrid *sigrid, const int32_t *from, size_t count, int32_t *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (int32_t)sigrid_hash(sigrid, from[i]);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    int32_t *to = made.to;
    if (state->type == WEIR_I32) {
        hash_i32(&state->sigrid, made.from, made.count, to);
        return;
    }
    for (size_t i = 0; i < made.count; i++)
        to[i] = (int32_t)sigrid_hash(&state->sigrid,
                                     weir_element_get_integer(state->type, made.from, i));
}

const struct preprocess_operator preprocess_operator_hash_mod = {
    .name = "hash_mod",
    .summary = "ids to hashed numbers below a bound",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
