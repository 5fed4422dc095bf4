/* standardize: dense numbers → f32 with mean 0 and standard deviation 1, or from 0 to 1, per element, fitted on the
 * set (C16). Partial fits are moments (moments.h), merged in group order: the same set gives the same state to the
 * bit, whoever folded the groups.
 * NaN stays NaN, and what is infinite stays so: neither has a part in the fit.
 *
 * Partial and merged: moments per element. Fitted: per element f64 what is taken off, the mean or the least, and f64
 * what is divided by, the deviation or the range. An element that never varies is only centred, one without a number
 * stays as it is. */
#include "preprocess/operators/moments.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const UNITS[] = {"deviation", "range", NULL};
enum { BY_DEVIATION, BY_RANGE };

struct options {
    const char *on;
    int by;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense"),
    CFG_CHOICE(
        struct options, by, .fallback = "deviation", .choices = UNITS,
        .doc =
            "deviation: mean 0, standard deviation 1; range: the least of the set is 0, the greatest 1"),
    CFG_END,
};

struct state {
    enum weir_dtype type; /* f32 or f64 */
    size_t width;
    int by;
    double *fitted; /* what is taken off, then what is divided by; NULL: not yet */
    struct weir_buf merged;
};

static size_t partial_bytes(size_t width)
{
    return width * sizeof(struct moments);
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_DENSE, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->type != WEIR_F32 && about->type != WEIR_F64)
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds %s, expected f32 or f64: cast it first", about->name,
                         weir_dtype_name(about->type));
    state->type = about->type;
    state->width = about->width;
    state->by = options->by;
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about_as(about, WEIR_F32);
    ret_plan->partial_bytes = partial_bytes(state->width);
    return WEIR_OK;
}

static void fini(void *owner)
{
    struct state *state = owner;
    free(state->fitted);
    weir_buf_fini(&state->merged);
}

/* One row; by type, so that the loops become vectors. */
#define STANDARDIZE(ctype)                                                                        \
    WEIR_CLONES static void standardize_##ctype(const ctype *from, const double *mean,            \
                                                const double *deviation, size_t width, float *to) \
    {                                                                                             \
        for (size_t k = 0; k < width; k++)                                                        \
            to[k] = (float)(((double)from[k] - mean[k]) / deviation[k]);                          \
    }
STANDARDIZE(float)
STANDARDIZE(double)

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    size_t width = state->width;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    const void *from = made.from;
    float *to = made.to;
    const double *mean = state->fitted, *deviation = state->fitted + width;
    for (size_t i = 0; i < call->rows; i++) {
        if (state->type == WEIR_F32)
            standardize_float((const float *)from + i * width, mean, deviation, width,
                              to + i * width);
        else
            standardize_double((const double *)from + i * width, mean, deviation, width,
                               to + i * width);
    }
}

static void fold(void *owner, const struct operator_call *call, struct weir_buf *partial)
{
    const struct state *state = owner;
    if (partial->size == 0) {
        weir_buf_reserve(partial, partial_bytes(state->width));
        memset(partial->at, 0, partial_bytes(state->width));
        partial->size = partial_bytes(state->width);
    }
    struct moments *moments = (struct moments *)(void *)partial->at;
    for (size_t i = 0; i < call->rows; i++) {
        for (size_t k = 0; call->failed[i] == OPERATOR_ROW_OK && k < state->width; k++)
            preprocess_moments_add(&moments[k], weir_element_get(state->type, call->in->values.at,
                                                                 i * state->width + k));
    }
}

static enum weir_status merge(void *owner, struct weir_bytes partial, struct weir_error *err)
{
    struct state *state = owner;
    struct weir_buf *merged = &state->merged;
    if (partial.size != partial_bytes(state->width))
        return weir_fail(err, WEIR_INVALID, "standardize: partial fit of %zu bytes, expected %zu",
                         partial.size, partial_bytes(state->width));
    if (merged->size == 0) {
        weir_buf_append(merged, partial.at, partial.size);
        return WEIR_OK;
    }
    struct moments *to = (struct moments *)(void *)merged->at;
    for (size_t k = 0; k < state->width; k++) {
        struct moments from;
        memcpy(&from, partial.at + partial_bytes(k), sizeof(from));
        preprocess_moments_merge(&to[k], &from);
    }
    return WEIR_OK;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    const struct state *state = owner;
    const struct moments *moments = (const struct moments *)(const void *)state->merged.at;
    uint64_t count = 0;
    for (size_t k = 0; k < state->width && moments != NULL; k++)
        count += moments[k].count;
    if (count == 0)
        return weir_fail(err, WEIR_INVALID, "standardize: no number to fit on");
    for (size_t k = 0; k < state->width; k++) {
        double pair[2] = {moments[k].mean, preprocess_moments_deviation(&moments[k])};
        if (state->by == BY_RANGE) {
            pair[0] = moments[k].least;
            pair[1] = preprocess_moments_range(&moments[k]);
        }
        weir_buf_append(fitted, pair, sizeof(pair));
    }
    return WEIR_OK;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    size_t bytes = 2 * state->width * sizeof(double);
    if (fitted.size != bytes)
        return weir_fail(err, WEIR_INVALID,
                         "standardize: fitted state of %zu bytes, expected %zu for %zu elements",
                         fitted.size, bytes, state->width);
    free(state->fitted);
    state->fitted = weir_calloc(2 * state->width, sizeof(double));
    for (size_t k = 0; k < 2 * state->width; k++) {
        double number;
        memcpy(&number, fitted.at + k * sizeof(double), sizeof(number));
        state->fitted[k % 2 * state->width + k / 2] = number;
    }
    return WEIR_OK;
}

static const struct operator_fit FIT = {
    .fold = fold,
    .merge = merge,
    .finish = finish,
    .load = load,
};

const struct preprocess_operator preprocess_operator_standardize = {
    .name = "standardize",
    .summary = "dense numbers to mean 0 and deviation 1, fitted on the set",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .fit = &FIT,
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
