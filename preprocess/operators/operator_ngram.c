/* ngram: runs of n ids → i32 numbers in [0, buckets): the hash of a run is that of its ids joined one
 * after the other (sigrid.h). A dense row of w ids has w - n + 1 runs, a ragged one as many, or none
 * when it is shorter. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"
#include "preprocess/operators/sigrid.h"

enum { RUN_MAX = 16 };

struct options {
    const char *on;
    uint64_t n;
    uint64_t buckets;
    uint64_t salt;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, n, .fallback = "2", .min = 1, .max = RUN_MAX, .doc = "ids in a run"),
    CFG_U64(struct options, buckets, .required = true, .min = 1, .max = 1 << 30,
            .doc = "numbers are in [0, buckets)"),
    CFG_U64(struct options, salt, .fallback = "0", .doc = "another salt, other collisions"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    size_t n;
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
    if (about->kind == COLUMN_DENSE && about->width < options->n)
        return weir_fail(err, WEIR_INVALID, "column %s has %u ids a row, expected at least %lu",
                         about->name, about->width, options->n);
    state->type = about->type;
    state->n = options->n;
    state->sigrid = sigrid_of(options->buckets, options->salt);
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about(
        about->name, about->kind, WEIR_I32,
        about->kind == COLUMN_DENSE ? about->width - (uint32_t)state->n + 1 : 0);
    return WEIR_OK;
}

static int32_t hash_run(const struct state *state, const void *ids, size_t first)
{
    uint64_t hash = state->sigrid.salt;
    for (size_t i = first; i < first + state->n; i++)
        hash =
            sigrid_join(hash, sigrid_mix((uint64_t)weir_element_get_integer(state->type, ids, i)));
    return (int32_t)sigrid_bucket(&state->sigrid, hash);
}

static void hash_row(const struct state *state, const struct column *in, size_t first, size_t end,
                     struct column *out)
{
    int32_t *to = (int32_t *)(void *)(out->values.at + out->values.size);
    for (size_t i = first; i + state->n <= end; i++)
        *to++ = hash_run(state, in->values.at, i);
    out->values.size = (size_t)((uint8_t *)to - out->values.at);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    const struct column *in = call->in;
    struct column *out = &call->out[0];
    size_t count = in->values.size / weir_dtype_bytes(state->type), width = in->about.width;
    const uint32_t *offsets = column_offsets(in);
    weir_buf_reserve(&out->values, count * sizeof(int32_t));
    for (size_t i = 0; i < call->rows; i++) {
        if (in->about.kind == COLUMN_DENSE) {
            hash_row(state, in, i * width, (i + 1) * width, out);
        } else {
            hash_row(state, in, offsets[i], offsets[i + 1], out);
            preprocess_column_end_row(out);
        }
    }
}

const struct preprocess_operator preprocess_operator_ngram = {
    .name = "ngram",
    .summary = "runs of ids to hashed numbers",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
