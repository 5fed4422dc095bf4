/* hash_mod: ids of any size → numbers in [0, buckets), dense or ragged. The hash is the one that
 * recommendation models know as SigridHash: Thomas Wang's 64-bit mix, joined with a salt as
 * CityHash joins 128 bits to 64, floored modulo. */
#include "preprocess/operators/operator.h"

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
    enum weir_dtype type; /* i32, i64 or u32 */
    uint64_t buckets, salt;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    enum weir_status status = operator_schema_pick(
        schema, options->on, 1u << COLUMN_DENSE | 1u << COLUMN_RAGGED, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->type != WEIR_I32 && about->type != WEIR_I64 && about->type != WEIR_U32)
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds %s, expected i32, i64 or u32: cast it "
                         "first",
                         about->name, weir_dtype_name(about->type));
    *(struct state *)owner =
        (struct state){.type = about->type, .buckets = options->buckets, .salt = options->salt};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about(about->name, about->kind, WEIR_I32, about->width);
    return WEIR_OK;
}

static uint64_t mix(uint64_t key)
{
    key = ~key + (key << 21);
    key ^= key >> 24;
    key *= 265;
    key ^= key >> 14;
    key *= 21;
    key ^= key >> 28;
    return key + (key << 31);
}

static uint64_t join(uint64_t upper, uint64_t lower)
{
    const uint64_t prime = 0x9ddfea08eb382d69;
    uint64_t a = (lower ^ upper) * prime;
    a ^= a >> 47;
    uint64_t b = (upper ^ a) * prime;
    b ^= b >> 47;
    return b * prime;
}

static int32_t bucket_of(const struct state *state, int64_t id)
{
    int64_t hash = (int64_t)join(state->salt, mix((uint64_t)id));
    int64_t buckets = (int64_t)state->buckets, rest = hash % buckets;
    return (int32_t)(rest < 0 ? rest + buckets : rest);
}

static int64_t id_at(const struct state *state, const struct weir_buf *values, size_t index)
{
    const void *at = values->at;
    switch (state->type) {
    case WEIR_I32:
        return ((const int32_t *)at)[index];
    case WEIR_U32:
        return ((const uint32_t *)at)[index];
    default:
        return ((const int64_t *)at)[index];
    }
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct weir_buf *values = &call->out[0].values;
    size_t count = call->in->values.size / weir_dtype_bytes(state->type);
    weir_buf_reserve(values, count * sizeof(int32_t));
    int32_t *to = (int32_t *)(void *)values->at;
    for (size_t i = 0; i < count; i++)
        to[i] = bucket_of(state, id_at(state, &call->in->values, i));
    values->size = count * sizeof(int32_t);
    weir_buf_clear(&call->out[0].offsets);
    weir_buf_append(&call->out[0].offsets, call->in->offsets.at, call->in->offsets.size);
}

const struct preprocess_operator operator_hash_mod = {
    .name = "hash_mod",
    .summary = "ids to hashed numbers below a bound",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
};
