/* cast: the elements of a dense or ragged tensor in another type. Numbers that the new type cannot
 * hold become the nearest that it can; NaN becomes 0 in integers. */
#include "preprocess/operators/operator.h"

#include <math.h>
#include <string.h>

struct options {
    const char *on;
    int to;
};

static const char *const TYPES[] = {"u8", "i32", "i64", "f32", "f64", "u32", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_CHOICE(struct options, to, .required = true, .choices = TYPES, .doc = "the new type"),
    CFG_END,
};

struct state {
    enum weir_dtype from, to;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = operator_schema_pick(
        schema, options->on, 1u << COLUMN_DENSE | 1u << COLUMN_RAGGED, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    state->from = about->type;
    state->to = (enum weir_dtype)(options->to + 1); /* TYPES is in the order of WEIR_DTYPE_LIST */
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about(about->name, about->kind, state->to, about->width);
    return WEIR_OK;
}

/* Both directions go through double: 64-bit integers beyond 2^53 are rounded. */
static double load_element(enum weir_dtype type, const uint8_t *at)
{
    switch (type) {
    case WEIR_U8:
        return *at;
    case WEIR_I32:
        return *(const int32_t *)(const void *)at;
    case WEIR_I64:
        return (double)*(const int64_t *)(const void *)at;
    case WEIR_F32:
        return *(const float *)(const void *)at;
    case WEIR_F64:
        return *(const double *)(const void *)at;
    case WEIR_U32:
        return *(const uint32_t *)(const void *)at;
    }
    weir_require(false);
}

static double clamp(double value, double min, double max)
{
    if (isnan(value))
        return 0;
    return value < min ? min : value > max ? max : value;
}

static void store_element(enum weir_dtype type, double value, uint8_t *at)
{
    switch (type) {
    case WEIR_U8:
        *at = (uint8_t)clamp(value, 0, UINT8_MAX);
        return;
    case WEIR_I32:
        *(int32_t *)(void *)at = (int32_t)clamp(value, INT32_MIN, INT32_MAX);
        return;
    case WEIR_I64: /* the largest double below 2^63 */
        *(int64_t *)(void *)at = (int64_t)clamp(value, (double)INT64_MIN, 0x1.fffffffffffffp62);
        return;
    case WEIR_F32:
        *(float *)(void *)at = (float)value;
        return;
    case WEIR_F64:
        *(double *)(void *)at = value;
        return;
    case WEIR_U32:
        *(uint32_t *)(void *)at = (uint32_t)clamp(value, 0, UINT32_MAX);
        return;
    }
    weir_require(false);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    size_t from = weir_dtype_bytes(state->from), to = weir_dtype_bytes(state->to);
    size_t count = call->in->values.size / from;
    struct weir_buf *values = &call->out[0].values;
    weir_buf_reserve(values, count * to);
    values->size = count * to;
    if (state->from == state->to && count > 0)
        memcpy(values->at, call->in->values.at, count * to);
    for (size_t i = 0; i < count && state->from != state->to; i++)
        store_element(state->to, load_element(state->from, call->in->values.at + i * from),
                      values->at + i * to);
    weir_buf_clear(&call->out[0].offsets);
    weir_buf_append(&call->out[0].offsets, call->in->offsets.at, call->in->offsets.size);
}

const struct preprocess_operator operator_cast = {
    .name = "cast",
    .summary = "a tensor in another element type",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
};
