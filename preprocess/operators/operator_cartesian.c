/* cartesian: two columns of ids, which stay → each id of one with each of the other, as hashed i32 numbers in [0,
 * buckets), the same as ngram gives a run of the two (sigrid.h). Dense if both are, else ragged. */
#include "preprocess/operators/keys.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/sigrid.h"

enum { PAIRS_MAX = 4096 /* of a row */ };

struct options {
    struct cfg_texts on;
    uint64_t buckets, salt;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, on, .required = true, .doc = "two columns of integers"),
    CFG_U64(struct options, buckets, .required = true, .min = 1, .max = 1 << 30,
            .doc = "numbers are in [0, buckets)"),
    CFG_U64(struct options, salt, .fallback = "0", .doc = "another salt, other collisions"),
    CFG_TEXT(struct options, as, .fallback = "pairs", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    struct keys first, second;
    struct sigrid sigrid;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    struct keys *keys[] = {&state->first, &state->second};
    enum weir_status status = preprocess_keys_plan_both(&options->on, schema, keys, ret_plan, err);
    if (status != WEIR_OK)
        return status;
    bool is_dense = state->first.kind == COLUMN_DENSE && state->second.kind == COLUMN_DENSE;
    uint64_t width = is_dense ? (uint64_t)state->first.columns * state->second.columns : 0;
    if (width > PAIRS_MAX)
        return weir_fail(err, WEIR_LIMIT, "%lu pairs of a row, expected at most %d", width,
                         PAIRS_MAX);
    state->sigrid = sigrid_of(options->buckets, options->salt);
    status = preprocess_operator_plan_output(ret_plan, options->as,
                                             is_dense ? COLUMN_DENSE : COLUMN_RAGGED, WEIR_I32,
                                             (uint32_t)width, err);
    preprocess_column_bound(&ret_plan->output[0], options->buckets);
    return status;
}

static uint64_t join(uint64_t hash, const struct keys *keys, const struct column *in, size_t i)
{
    int64_t id = weir_element_get_integer(keys->type, in->values.at, i);
    return sigrid_join(hash, sigrid_mix((uint64_t)id));
}

/* Appends the pairs of two runs of ids. */
static void pair(const struct state *state, const struct operator_call *call,
                 const struct keys_row *one, const struct keys_row *other)
{
    struct weir_buf *values = &call->out[0].values;
    weir_buf_reserve(values, one->count * other->count * sizeof(int32_t));
    int32_t *to = (int32_t *)(void *)(values->at + values->size);
    values->size += one->count * other->count * sizeof(int32_t);
    for (size_t i = 0; i < one->count; i++) {
        uint64_t begun = join(state->sigrid.salt, &state->first, call->in, one->first + i);
        for (size_t k = 0; k < other->count; k++)
            *to++ = (int32_t)sigrid_bucket(
                &state->sigrid, join(begun, &state->second, call->more[0], other->first + k));
    }
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column *out = &call->out[0];
    for (size_t row = 0; row < call->rows; row++) {
        struct keys_row one = preprocess_keys_row(&state->first, call->in, row);
        struct keys_row other = preprocess_keys_row(&state->second, call->more[0], row);
        if (one.count * other.count <= PAIRS_MAX)
            pair(state, call, &one, &other);
        else
            preprocess_operator_fail_row(call, row, "%zu by %zu ids, expected at most %d pairs",
                                         one.count, other.count, PAIRS_MAX);
        if (out->about.kind == COLUMN_RAGGED)
            preprocess_column_end_row(out);
    }
}

const struct preprocess_operator preprocess_operator_cartesian = {
    .name = "cartesian",
    .summary = "each id of a column with each of another, hashed",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
