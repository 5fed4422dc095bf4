/* cast: the elements of a dense or ragged tensor in another type. Numbers that the new type cannot
 * hold become the nearest that it can; NaN becomes 0 in integers. All goes through double: 64-bit integers
 * beyond 2^53 are rounded. */
#include "preprocess/operators/tensor_maker.h"

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

/* True when every number of the one type is one of the other, as a double too. */
static bool widens(enum weir_dtype from, enum weir_dtype to)
{
    static const unsigned WIDER[] = {
        [WEIR_U8] = OPERATOR_NUMBERS,
        [WEIR_I32] = 1 << WEIR_I64 | 1 << WEIR_F64,
        [WEIR_U32] = 1 << WEIR_I64 | 1 << WEIR_F64,
        [WEIR_F32] = 1 << WEIR_F64,
    };
    return from < WEIR_COUNT(WIDER) && (WIDER[from] & 1u << to) != 0;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct tensor_maker *maker = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_NUMBERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    enum weir_dtype to = (enum weir_dtype)(options->to + 1); /* TYPES is as WEIR_DTYPE_LIST */
    maker->step = (struct weir_tensor_step){.kind = WEIR_STEP_CAST, .type = to};
    ret_plan->traits = widens(about->type, to) ? OPERATOR_WIDENS : 0;
    return preprocess_tensor_maker_plan(maker, about, ret_plan, err);
}

const struct preprocess_operator preprocess_operator_cast = {
    .name = "cast",
    .summary = "a tensor in another element type",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct tensor_maker),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = preprocess_tensor_maker_apply,
    .by_row = true,
    .step = preprocess_tensor_maker_step,
};
