/* math: a function of each number of dense or ragged floats: logarithms, roots, powers, roundings. NaN stays NaN; what
 * is infinite counts as the largest number. */
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include "core/base/elementary.h"

#include <float.h>
#include <math.h>

/* The numbers that options give a function. */
struct given {
    double floor, by;
};

static double at_least(double x, double least)
{
    return x < least ? least : x;
}

static double logit_of(double p, double floor)
{
    double inside = at_least(p > 1 - floor ? 1 - floor : p, floor);
    return weir_ln(inside) - weir_ln(1 - inside);
}

/* X(name, value of x) */
// clang-format off
#define FUNCTIONS(X)                                                   \
    X(log, weir_ln(at_least(x, given->floor)))                         \
    X(signed_log1p, copysign(weir_ln1p(fabs(x)), x))                    \
    X(exp, weir_exp(x))                                                  \
    X(sqrt, sqrt(at_least(x, 0)))                                      \
    X(square, x * x)                                                   \
    X(abs, fabs(x))                                                    \
    X(power, weir_pow(at_least(x, given->floor), given->by)) \
    X(sigmoid, 1 / (1 + weir_exp(-x)))                                   \
    X(logit, logit_of(x, given->floor))                                \
    X(round, rint(x))                                                  \
    X(floor, floor(x))                                                 \
    X(ceil, ceil(x))
// clang-format on

typedef double function(double x, const struct given *given);

#define X(name, value)                                                 \
    static double name##_function(double x, const struct given *given) \
    {                                                                  \
        (void)given;                                                   \
        return value;                                                  \
    }
FUNCTIONS(X)
#undef X

static const char *const NAMES[] = {
#define X(name, value) #name,
    FUNCTIONS(X)
#undef X
        NULL};
static function *const ALL[] = {
#define X(name, value) name##_function,
    FUNCTIONS(X)
#undef X
};

struct options {
    const char *on;
    int function;
    double by, floor;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_CHOICE(
        struct options, function, .required = true, .choices = NAMES,
        .doc =
            "log and logit are natural; signed_log1p keeps the sign; sqrt of what is below 0 is 0; round to "
            "even"),
    CFG_F64(struct options, by, .fallback = "2", .min = -64, .max = 64, .doc = "exponent of power"),
    CFG_F64(struct options, floor, .fallback = "1e-6", .min = 1e-300, .max = 0.5,
            .doc = "least number for log and power; of logit the distance from 0 and 1"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    function *function;
    struct given given;
};

static enum weir_status plan(void *owner, const void *chosen, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = chosen;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_FLOATS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    *state = (struct state){.type = ret_plan->output[0].type,
                            .function = ALL[options->function],
                            .given = {.floor = options->floor, .by = options->by}};
    return WEIR_OK;
}

static double value_of(const struct state *state, double x)
{
    double finite = x > DBL_MAX ? DBL_MAX : x < -DBL_MAX ? -DBL_MAX : x;
    return isnan(x) ? x : state->function(finite, &state->given);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    for (size_t i = 0; i < made.count; i++) {
        double x = weir_element_get(state->type, made.from, i);
        weir_element_put(state->type, made.to, i, value_of(state, x));
    }
}

const struct preprocess_operator preprocess_operator_math = {
    .name = "math",
    .summary = "a function of each number: logarithm, root, power, rounding, …",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
