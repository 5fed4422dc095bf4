/* filter: drops the samples whose number lies outside of [min, max]: a hole each, counted as
 * filtered. The number is an element of a dense tensor (all of them must lie inside when none is
 * named), else how long the row is: bytes, words or elements. NaN lies outside. The column stays. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <math.h>

struct options {
    const char *on;
    const char *element;
    const char *min;
    const char *max;
    bool invert;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest"),
    CFG_TEXT(struct options, element,
             .doc = "of a dense tensor, from 0; by default each of them is looked at"),
    CFG_TEXT(struct options, min, .doc = "samples below it are dropped"),
    CFG_TEXT(struct options, max, .doc = "samples above it are dropped"),
    CFG_BOOL(struct options, invert, .fallback = "false", .doc = "drop what lies inside instead"),
    CFG_END,
};

struct state {
    double min, max;
    size_t first, end; /* elements looked at */
    bool invert;
};

static enum weir_status plan_element(struct state *state, const char *text,
                                     const struct column_about *about, unsigned *ret_traits,
                                     struct weir_error *err)
{
    double element = 0;
    bool is_dense = about->kind == COLUMN_DENSE;
    state->end = is_dense ? about->width : 1;
    *ret_traits = is_dense ? OPERATOR_TESTS_NUMBERS : OPERATOR_TESTS_LENGTHS;
    if (text == NULL)
        return WEIR_OK;
    if (!is_dense || !preprocess_number_read(weir_bytes_of(text), &element) || element < 0 ||
        element >= about->width || element != floor(element))
        return weir_fail(err, WEIR_INVALID,
                         "element '%s' of column %s, expected a number from 0 to %u", text,
                         about->name, is_dense ? about->width - 1 : 0);
    state->first = (size_t)element;
    state->end = state->first + 1;
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    *state = (struct state){.min = -INFINITY, .max = INFINITY, .invert = options->invert};
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, (1u << (COLUMN_RAGGED + 1)) - 1, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_number_read_option("min", options->min, &state->min, err);
    if (status == WEIR_OK)
        status = preprocess_number_read_option("max", options->max, &state->max, err);
    if (status == WEIR_OK && (options->min == NULL && options->max == NULL))
        status = weir_fail(err, WEIR_INVALID, "found neither min nor max, expected one of them");
    if (status == WEIR_OK && state->min > state->max)
        status = weir_fail(err, WEIR_INVALID, "min %g is above max %g", state->min, state->max);
    if (status == WEIR_OK)
        status = plan_element(state, options->element, &schema->column[ret_plan->in],
                              &ret_plan->traits, err);
    return status;
}

static bool is_inside(const struct state *state, const struct column *in, size_t row)
{
    if (in->about.kind != COLUMN_DENSE) {
        const uint32_t *offsets = column_offsets(in);
        double length = offsets[row + 1] - offsets[row];
        return length >= state->min && length <= state->max;
    }
    for (size_t i = state->first; i < state->end; i++) {
        double value = weir_element_get(in->about.type, in->values.at, row * in->about.width + i);
        if (!(value >= state->min && value <= state->max))
            return false;
    }
    return true;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    for (size_t i = 0; i < call->rows; i++) {
        if (is_inside(state, call->in, i) == state->invert)
            preprocess_operator_filter_row(call, i);
    }
}

const struct preprocess_operator preprocess_operator_filter = {
    .name = "filter",
    .summary = "drops samples by a number, or by how long they are",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_DROPS,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
