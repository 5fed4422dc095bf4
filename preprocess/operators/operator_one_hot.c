/* one_hot: numbers in [0, classes) → dense f32. Each number of a dense row has `classes` places of its
 * own, 1 at the number and 0 elsewhere; a ragged row has `classes` places in all, 1 at each number it
 * holds. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <string.h>

static const char *const UNKNOWN[] = {"zeros", "fail", NULL};
enum { UNKNOWN_ZEROS, UNKNOWN_FAIL };

struct options {
    const char *on;
    uint64_t classes;
    int unknown;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_U64(struct options, classes, .required = true, .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "numbers are in [0, classes)"),
    CFG_CHOICE(struct options, unknown, .fallback = "zeros", .choices = UNKNOWN,
               .doc = "a number outside: no 1 for it, or the sample fails"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    uint64_t classes;
    size_t width; /* of a row that comes out */
    int unknown;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS | 1u << WEIR_U8, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    uint64_t numbers = about->kind == COLUMN_DENSE ? about->width : 1;
    if (numbers * options->classes > COLUMN_WIDTH_MAX)
        return weir_fail(err, WEIR_LIMIT, "%lu numbers of %lu classes, expected at most %d places",
                         numbers, options->classes, COLUMN_WIDTH_MAX);
    *state = (struct state){.type = about->type,
                            .classes = options->classes,
                            .width = numbers * options->classes,
                            .unknown = options->unknown};
    ret_plan->outputs = 1;
    ret_plan->output[0] =
        preprocess_column_about(about->name, COLUMN_DENSE, WEIR_F32, (uint32_t)state->width);
    return WEIR_OK;
}

/* Sets the places of numbers first … end - 1; `stride` places lie between those of two numbers. */
static void set_row(const struct state *state, struct operator_call *call, size_t row, size_t first,
                    size_t end)
{
    float *places = (float *)(void *)call->out[0].values.at + row * state->width;
    size_t stride = call->in->about.kind == COLUMN_DENSE ? state->classes : 0;
    for (size_t i = first; i < end; i++, places += stride) {
        int64_t number = preprocess_numeric_get_integer(state->type, call->in->values.at, i);
        if (number >= 0 && (uint64_t)number < state->classes)
            places[number] = 1;
        else if (state->unknown == UNKNOWN_FAIL)
            preprocess_operator_fail_row(call, row, "found number %ld, expected 0 to %lu", number,
                                         state->classes - 1);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct weir_buf *values = &call->out[0].values;
    size_t bytes = call->rows * state->width * sizeof(float), width = call->in->about.width;
    const uint32_t *offsets = column_offsets(call->in);
    weir_buf_reserve(values, bytes);
    memset(values->at, 0, bytes);
    values->size = bytes;
    for (size_t i = 0; i < call->rows; i++) {
        bool is_dense = call->in->about.kind == COLUMN_DENSE;
        set_row(state, call, i, is_dense ? i * width : offsets[i],
                is_dense ? (i + 1) * width : offsets[i + 1]);
    }
}

const struct preprocess_operator preprocess_operator_one_hot = {
    .name = "one_hot",
    .summary = "numbers of classes to rows of zeros and ones",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
};
