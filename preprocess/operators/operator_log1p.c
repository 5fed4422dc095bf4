/* log1p: dense f32 → ln(1 + x), negative numbers as 0, NaN as NaN: what counters are usually fed to a model as. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <float.h>
#include <string.h>

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense"),
    CFG_END,
};

static enum weir_status plan(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)state;
    const struct options *chosen = options;
    enum weir_status status =
        preprocess_operator_schema_pick(schema, chosen->on, 1u << COLUMN_DENSE, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->type != WEIR_F32)
        return weir_fail(err, WEIR_INVALID, "column %s holds %s, expected f32: cast it first",
                         about->name, weir_dtype_name(about->type));
    ret_plan->outputs = 1;
    ret_plan->output[0] = *about;
    return WEIR_OK;
}

/* ln(1 + x) for x >= 0 without a branch, so that loops over it become vectors; within 2 units in the
 * last place. With u = 1 + x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2): k ln 2 + ln(1 + f), and
 * ln(1 + f) = 2 artanh(f / (2 + f)) by its series; what u lost of x is added at last. */
static inline float log1p_of(float x)
{
    const uint32_t root_half = 0x3f3504f3; /* sqrt(1/2) as bits */
    float u = 1 + x, m;
    uint32_t bits;
    memcpy(&bits, &u, sizeof(bits));
    int32_t k = (int32_t)(bits - root_half) >> 23;
    bits -= (uint32_t)k << 23;
    memcpy(&m, &bits, sizeof(m));
    float f = m - 1, s = f / (2 + f), z = s * s;
    float series = z * (0.33333333f + z * (0.2f + z * (0.14285714f + z * 0.11111111f)));
    float lost = (x - (u - 1)) / u;
    float log = 2 * s * series + (lost + 2 * s) + (float)k * 0.69314718f;
    return x > FLT_MAX ? x : log;
}

WEIR_CLONES static void log1p_all(const float *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) {
        float log = log1p_of(from[i] < 0 ? 0 : from[i]);
        to[i] = log;
    }
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    log1p_all(made.from, made.count, made.to);
}

const struct preprocess_operator preprocess_operator_log1p = {
    .name = "log1p",
    .summary = "ln(1 + x) of dense numbers, negative ones as 0",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
