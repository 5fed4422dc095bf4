/* scale_label: makes no column, but fits mean and deviation of the labels (C16), by which a model may learn to say
 * (label - mean) / deviation. Labels travel as they are: built-in models scale them as they learn, and their
 * predictions back; a program asks weir_client_label_scale(). A model that starts from another one keeps the scale of
 * that.
 *
 * Partial fit: u64 labels that were no numbers, then moments. Fitted: struct weir_label_scale (core/wire/fitted.h). */
#include "preprocess/operators/labels.h"
#include "preprocess/operators/moments.h"

#include "core/wire/fitted.h"

#include <math.h>
#include <string.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

struct partial {
    uint64_t refused;
    struct moments moments;
};

struct state {
    struct partial merged;
    struct weir_label_scale inherited; /* deviation 0: there is none */
};

/* It reads no column: the first one is as good as any. */
static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)owner;
    (void)given;
    (void)schema;
    (void)err;
    ret_plan->partial_bytes = sizeof(struct partial);
    return WEIR_OK;
}

static void apply(void *owner, struct operator_call *call)
{
    (void)owner;
    (void)call;
}

static void fold(void *owner, const struct operator_call *call, struct weir_buf *partial)
{
    (void)owner;
    if (partial->size == 0)
        weir_buf_append(partial, &(struct partial){0}, sizeof(struct partial));
    struct partial *folded = (struct partial *)(void *)partial->at;
    for (size_t row = 0; row < call->rows; row++) {
        double label;
        if (call->failed[row] != OPERATOR_ROW_OK)
            continue;
        if (preprocess_label_read(call->batch, row, false, &label))
            preprocess_moments_add(&folded->moments, label);
        else
            folded->refused++;
    }
}

static enum weir_status merge(void *owner, struct weir_bytes partial, struct weir_error *err)
{
    struct state *state = owner;
    struct partial part;
    if (partial.size != sizeof(part))
        return weir_fail(err, WEIR_INVALID, "scale_label: partial fit of %zu bytes, expected %zu",
                         partial.size, sizeof(part));
    memcpy(&part, partial.at, sizeof(part));
    state->merged.refused += part.refused;
    preprocess_moments_merge(&state->merged.moments, &part.moments);
    return WEIR_OK;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    const struct state *state = owner;
    const struct moments *moments = &state->merged.moments;
    if (state->merged.refused > 0 || moments->count == 0)
        return weir_fail(err, WEIR_INVALID,
                         "scale_label: found %lu labels that are numbers and %lu that are none, "
                         "expected numbers alone: classes and vectors are not scaled",
                         moments->count, state->merged.refused);
    struct weir_label_scale scale = {moments->mean, preprocess_moments_deviation(moments)};
    if (state->inherited.deviation > 0)
        scale = state->inherited;
    weir_buf_append(fitted, &scale, sizeof(scale));
    return WEIR_OK;
}

static enum weir_status read_scale(struct weir_bytes fitted, struct weir_label_scale *ret_scale,
                                   struct weir_error *err)
{
    if (fitted.size == sizeof(*ret_scale)) {
        memcpy(ret_scale, fitted.at, sizeof(*ret_scale));
        if (isfinite(ret_scale->mean) && isfinite(ret_scale->deviation) && ret_scale->deviation > 0)
            return WEIR_OK;
    }
    return weir_fail(err, WEIR_INVALID,
                     "scale_label: fitted state of %zu bytes, expected a mean and a deviation",
                     fitted.size);
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    (void)owner;
    struct weir_label_scale scale;
    return read_scale(fitted, &scale, err);
}

static enum weir_status extend(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct weir_label_scale scale;
    enum weir_status status = read_scale(fitted, &scale, err);
    if (status == WEIR_OK)
        ((struct state *)owner)->inherited = scale;
    return status;
}

static const struct operator_fit FIT = {
    .fold = fold,
    .merge = merge,
    .finish = finish,
    .load = load,
    .extend = extend,
};

const struct preprocess_operator preprocess_operator_scale_label = {
    .name = WEIR_FITTED_LABEL,
    .summary =
        "labels are learned with mean 0 and deviation 1, and predicted in their own units; fitted on the set",
    .options = OPTIONS,
    .options_size = 1,
    .state_size = sizeof(struct state),
    .fit = &FIT,
    .in_place = true,
    .reads_no_column = true,
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
};
