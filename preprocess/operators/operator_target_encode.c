/* target_encode: categories → dense f32 `encoded`, the mean label of the samples that have the category, smoothed,
 * fitted on the set (C16). A sample that a model is trained on is encoded by the other folds alone, so that its own
 * label is no part of what the model sees of it: with its label in it the encoding of a rare category is the label.
 * Any other sample is encoded by all of the set. Of Micci-Barreca (2001), out of fold as scikit-learn's
 * TargetEncoder.fit_transform().
 *
 * Partial fit: u64 serial (of who folded it), then sums (target_sums.h). Fitted: sums. */
#include "preprocess/operators/keys.h"
#include "preprocess/operators/labels.h"
#include "preprocess/operators/target_sums.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { MERGED_BYTES_MAX = 512 << 20, CATEGORIES_MAX = 1 << 20 };

struct options {
    const char *on;
    double smooth;
    uint64_t folds, size;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(
        struct options, on,
        .doc =
            "column of categories: a text, integers of a dense tensor, or words of csv_words or json_words with "
            "keep_empty; by default the newest"),
    CFG_F64(struct options, smooth, .fallback = "20", .min = 0, .max = 1e9,
            .doc = "samples of a category at which its own mean counts as much as that of all"),
    CFG_U64(struct options, folds, .fallback = "5", .min = 2, .max = TARGET_FOLDS_MAX,
            .doc = "parts of the set; in training each is encoded by the others"),
    CFG_U64(struct options, size, .fallback = "65536", .min = 1, .max = CATEGORIES_MAX,
            .doc =
                "categories that are kept, the commonest; others are encoded by the mean of all"),
    CFG_TEXT(struct options, as, .fallback = "encoded", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    struct options options;
    struct keys keys;
    size_t width;              /* categories of a row */
    struct target_sums folded; /* the partial fit that was folded into last */
    uint64_t serial;           /* … and its mark */
    struct target_sums merged, fitted;
    /* (categories + 1, folds + 1): without each fold, then by all; the last row: of none */
    float *encodings;
};

/* ---- planning ---- */

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    state->options = *(const struct options *)given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, state->options.on,
        1u << COLUMN_BYTES | 1u << COLUMN_TEXT | 1u << COLUMN_TOKENS | 1u << COLUMN_DENSE,
        &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    status = preprocess_keys_plan(about, &state->keys, err);
    if (status == WEIR_OK && about->kind == COLUMN_TOKENS && about->width == 0)
        status = weir_fail(
            err, WEIR_INVALID,
            "column %s has as many words as there are, expected the same number in each "
            "row: those of csv_words or json_words with keep_empty: true, or a text (csv_text, "
            "json_text)",
            about->name);
    if (status != WEIR_OK)
        return status;
    if (about->kind == COLUMN_TOKENS)
        state->keys.columns = about->width;
    state->width = state->keys.columns;
    const struct target_sums empty = {.folds = (uint32_t)state->options.folds,
                                      .columns = state->keys.columns};
    state->folded = state->merged = state->fitted = empty;
    return preprocess_operator_plan_output(ret_plan, state->options.as, COLUMN_DENSE, WEIR_F32,
                                           (uint32_t)state->width, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_target_sums_fini(&state->folded);
    preprocess_target_sums_fini(&state->merged);
    preprocess_target_sums_fini(&state->fitted);
    free(state->encodings);
}

/* ---- fitting ---- */

/* The partial fit becomes state->folded, which need not read it again when it was the last to do so. */
static void take_partial(struct state *state, struct weir_bytes partial)
{
    uint64_t serial;
    if (!weir_take_u64(&partial, &serial))
        preprocess_target_sums_clear(&state->folded);
    else if (serial != state->serial)
        weir_require(preprocess_target_sums_take(&state->folded, partial)); /* it is our own */
}

static void fold_row(struct state *state, const struct operator_call *call, size_t row)
{
    struct target_sums *folded = &state->folded;
    uint32_t fold = preprocess_target_fold(folded, call->ids != NULL ? call->ids[row] : 0);
    struct keys_row elements = preprocess_keys_row(&state->keys, call->in, row);
    double label;
    if (!preprocess_label_read(call->batch, row, true, &label)) {
        folded->refused++;
        return;
    }
    folded->all[fold].sum += label;
    folded->all[fold].count++;
    for (size_t i = 0; i < elements.count; i++) {
        uint8_t number[8];
        struct weir_bytes key =
            preprocess_keys_at(&state->keys, call->in, elements.first + i, number);
        struct target_sum *sums =
            preprocess_target_sums_of(folded, (uint32_t)i, key, call->partial_bytes_max);
        folded->left_out += sums == NULL;
        if (sums == NULL)
            continue;
        sums[fold].sum += label;
        sums[fold].count++;
    }
}

static void fold(void *owner, const struct operator_call *call, struct weir_buf *partial)
{
    struct state *state = owner;
    take_partial(state, weir_buf_view(partial));
    for (size_t row = 0; row < call->rows; row++) {
        if (call->failed[row] == OPERATOR_ROW_OK)
            fold_row(state, call, row);
    }
    weir_buf_clear(partial);
    weir_buf_append_u64(partial, ++state->serial);
    preprocess_target_sums_pack(&state->folded, partial);
}

static enum weir_status merge(void *owner, struct weir_bytes partial, struct weir_error *err)
{
    struct state *state = owner;
    uint64_t serial;
    size_t size = partial.size;
    state->serial++;
    if (!weir_take_u64(&partial, &serial) || !preprocess_target_sums_take(&state->folded, partial))
        return weir_fail(err, WEIR_INVALID, "target_encode: partial fit of %zu bytes is malformed",
                         size);
    preprocess_target_sums_add(&state->merged, &state->folded, MERGED_BYTES_MAX);
    return WEIR_OK;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    struct state *state = owner;
    if (state->merged.refused > 0)
        return weir_fail(
            err, WEIR_INVALID,
            "target_encode: found %lu labels that are no numbers, expected numbers, or "
            "the names of two classes",
            state->merged.refused);
    preprocess_target_sums_keep(&state->merged, state->options.size);
    preprocess_target_sums_pack(&state->merged, fitted);
    return WEIR_OK;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct target_sums *sums = &state->fitted;
    if (!preprocess_target_sums_take(sums, fitted))
        return weir_fail(
            err, WEIR_INVALID,
            "target_encode: fitted state of %zu bytes, expected sums of %u folds for %u "
            "columns",
            fitted.size, sums->folds, sums->columns);
    size_t count = preprocess_vocabulary_size(&sums->categories), stride = sums->folds + 1;
    free(state->encodings);
    state->encodings = weir_calloc((count + 1) * stride, sizeof(float));
    preprocess_target_encodings(sums, state->options.smooth, state->encodings);
    return WEIR_OK;
}

/* ---- encoding ---- */

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    const struct state *state = owner;
    const struct target_sums *sums = &state->fitted;
    size_t none = preprocess_vocabulary_size(&sums->categories);
    uint64_t id = call->ids != NULL ? call->ids[row] : 0;
    uint32_t fold = call->batch->trains ? preprocess_target_fold(sums, id) : sums->folds;
    struct keys_row elements = preprocess_keys_row(&state->keys, call->in, row);
    for (size_t i = 0; i < elements.count && i < state->width; i++) {
        uint8_t number[8];
        struct weir_bytes key =
            preprocess_keys_at(&state->keys, call->in, elements.first + i, number);
        int64_t entry = preprocess_vocabulary_find(&sums->categories, (uint32_t)i, key);
        size_t at = entry != VOCABULARY_NONE ? (size_t)entry : none;
        to[i] = state->encodings[at * (sums->folds + 1) + fold];
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_numbers(owner, call, ((const struct state *)owner)->width, read_row);
}

static const struct operator_fit FIT = {
    .fold = fold,
    .merge = merge,
    .finish = finish,
    .load = load,
};

const struct preprocess_operator preprocess_operator_target_encode = {
    .name = "target_encode",
    .summary =
        "categories to the mean label of their samples, out of fold in training, fitted on the set",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .fit = &FIT,
    .traits = OPERATOR_TOTAL | OPERATOR_VARIES,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
