/* to_chw: pixels row by row (HWC) → planes, one per channel (CHW), of u8 or f32. */
#include "preprocess/operators/tensor_maker.h"

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of shape HWC"),
    CFG_END,
};

static bool is_hwc(const struct column_about *about)
{
    return about->kind == COLUMN_DENSE && (about->shape[2] == 1 || about->shape[2] == 3);
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct tensor_maker *maker = owner;
    const struct options *options = given;
    int found = -1;
    for (size_t i = 0; i < schema->count; i++) {
        bool is_named = options->on == NULL || weir_str_equal(options->on, schema->column[i].name);
        if (is_named && is_hwc(&schema->column[i]))
            found = (int)i;
    }
    if (found < 0)
        return weir_fail(err, WEIR_INVALID, "expected %s%s of one size and one or three channels",
                         options->on != NULL ? "pictures in column " : "a column of pictures",
                         options->on != NULL ? options->on : "");
    ret_plan->in = found;
    maker->step = (struct weir_tensor_step){.kind = WEIR_STEP_PLANES};
    return preprocess_tensor_maker_plan(maker, &schema->column[found], ret_plan, err);
}

const struct preprocess_operator preprocess_operator_to_chw = {
    .name = "to_chw",
    .summary = "pictures as planes, one per channel",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct tensor_maker),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = preprocess_tensor_maker_apply,
    .step = preprocess_tensor_maker_step,
    .by_row = true,
};
