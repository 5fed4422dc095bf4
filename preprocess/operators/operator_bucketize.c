/* bucketize: numbers → i32, the index of the interval between borders that each lies in, dense or
 * ragged. An interval ends with its border: borders 2, 5, 10 send 1 and 2 to 0, 3 and 5 to 1, 8 and
 * 10 to 2, 11 to 3. A border that stands twice has an interval of its own. NaN goes to 0. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { BORDERS_MAX = 1 << 16 };

struct options {
    const char *on;
    struct cfg_texts borders;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_TEXTS(struct options, borders, .required = true,
              .doc = "numbers that never fall, none more than twice"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    size_t count;
    double *borders; /* a number's bucket is how many of them lie below it */
};

static enum weir_status read_border(const struct options *options, size_t index,
                                    struct state *state, struct weir_error *err)
{
    const char *text = weir_yaml_text(weir_yaml_at(options->borders.node, index));
    double *at = &state->borders[index];
    if (text == NULL || !preprocess_number_read(weir_bytes_of(text), at))
        return weir_fail(err, WEIR_INVALID, "border '%s', expected a number",
                         text != NULL ? text : "");
    if ((index > 0 && at[0] < at[-1]) || (index > 1 && at[0] == at[-2]))
        return weir_fail(err, WEIR_INVALID,
                         "border %s, expected numbers that never fall, none more than twice", text);
    return WEIR_OK;
}

/* The first of two equal borders also lets the number itself pass: that is one step lower. */
static void lower_doubled(struct state *state)
{
    for (size_t i = 0; i + 1 < state->count; i++) {
        if (state->borders[i] == state->borders[i + 1])
            state->borders[i] = nextafter(state->borders[i], -INFINITY);
    }
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_NUMBERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (options->borders.count == 0 || options->borders.count > BORDERS_MAX)
        return weir_fail(err, WEIR_INVALID, "found %zu borders, expected 1 to %d",
                         options->borders.count, BORDERS_MAX);
    state->type = about->type;
    state->count = options->borders.count;
    state->borders = weir_calloc(state->count, sizeof(double));
    for (size_t i = 0; i < state->count && status == WEIR_OK; i++)
        status = read_border(options, i, state, err);
    lower_doubled(state);
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about_as(about, WEIR_I32);
    preprocess_column_bound(&ret_plan->output[0], state->count + 1);
    return status;
}

static void fini(void *owner)
{
    free(((struct state *)owner)->borders);
}

/* Returns the number of borders below `value`, by halving and without a branch that could be mispredicted. */
static int32_t bucket_of(const struct state *state, double value)
{
    const double *first = state->borders;
    for (size_t left = state->count; left > 0;) {
        size_t half = (left + 1) / 2;
        first += first[half - 1] < value ? half : 0;
        left -= half;
    }
    return (int32_t)(first - state->borders);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    int32_t *to = made.to;
    for (size_t i = 0; i < made.count; i++)
        to[i] = bucket_of(state, weir_element_get(state->type, made.from, i));
}

const struct preprocess_operator preprocess_operator_bucketize = {
    .name = "bucketize",
    .summary = "numbers to the index of the interval they lie in",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
