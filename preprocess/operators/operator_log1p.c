/* log1p: dense f32 → ln(1 + x), negative numbers as 0: what counters are usually fed to a model as. */
#include "preprocess/operators/operator.h"

#include <math.h>

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
        operator_schema_pick(schema, chosen->on, 1u << COLUMN_DENSE, &ret_plan->in, err);
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

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    const float *from = (const float *)(const void *)call->in->values.at;
    size_t count = column_begin_like(&call->out[0], call->in);
    float *to = (float *)(void *)call->out[0].values.at;
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] > 0 ? log1pf(from[i]) : 0;
}

const struct preprocess_operator operator_log1p = {
    .name = "log1p",
    .summary = "ln(1 + x) of dense numbers, negative ones as 0",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .plan = plan,
    .apply = apply,
};
