/* vocab: words, texts or ids → i32 numbers, given on the set (C16): the commonest come first, or
 * those that came first. Words and ragged ids share one vocabulary; each element of a dense tensor
 * has its own. 0 stands for whatever is not in it. A model that starts from another keeps the numbers
 * of that one: new entries are only appended.
 *
 * Partial fit: u64 serial (of who indexed it), u64 keys left out, then entries with their counts
 * (vocabulary.h), in the order of first sight: the same for any number of workers, as they are merged
 * in group order. Fitted: u64 keys left out, then entries with their numbers. What a hostile set can
 * make of either is bounded; keys beyond the bounds are left out, and counted. */
#include "preprocess/operators/keys.h"
#include "preprocess/operators/vocabulary.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIZE_MAX_OF_ALL = 1 << 22,
    MERGED_BYTES_MAX = 512 << 20,
    PARTIAL_HEAD_BYTES = 16,
    FITTED_HEAD_BYTES = 8,
};

static const char *const ORDERS[] = {"frequency", "first_seen", NULL};
enum { BY_FREQUENCY, BY_FIRST_SIGHT };

struct options {
    const char *on;
    uint64_t size;
    uint64_t min_count;
    uint64_t reserved;
    int order;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest"),
    CFG_U64(struct options, size, .fallback = "65536", .min = 1, .max = SIZE_MAX_OF_ALL,
            .doc = "entries of a vocabulary; the commonest are kept"),
    CFG_U64(struct options, min_count, .fallback = "1", .min = 1,
            .doc = "minimum number of occurrences of an entry"),
    CFG_U64(struct options, reserved, .fallback = "1", .min = 1, .max = 1 << 20,
            .doc = "number of the first entry; 0 is the unknown one"),
    CFG_CHOICE(struct options, order, .fallback = "frequency", .choices = ORDERS,
               .doc = "numbering of entries"),
    CFG_TEXT(struct options, as,
             .doc = "name of the tensor; by default tokens for words, else that of the column"),
    CFG_END,
};

struct state {
    struct options options;
    struct keys keys;         /* of the column it reads; a vocabulary for each of its columns */
    struct vocabulary folded; /* the partial fit that was folded into last */
    uint64_t serial;          /* … and its mark */
    struct vocabulary merged;
    size_t inherited;  /* entries of `merged` that came from another model */
    uint64_t left_out; /* of what was merged */
    struct vocabulary fitted;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    state->options = *(const struct options *)given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, state->options.on, (1u << (COLUMN_RAGGED + 1)) - 1, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    status = preprocess_keys_plan(about, &state->keys, err);
    if (status != WEIR_OK)
        return status;
    bool is_ragged = about->kind == COLUMN_TOKENS || about->kind == COLUMN_RAGGED;
    const char *name = about->kind == COLUMN_TOKENS ? "tokens" : about->name;
    return preprocess_operator_plan_output(
        ret_plan, state->options.as != NULL ? state->options.as : name,
        is_ragged ? COLUMN_RAGGED : COLUMN_DENSE, WEIR_I32, state->keys.columns, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_vocabulary_fini(&state->folded);
    preprocess_vocabulary_fini(&state->merged);
    preprocess_vocabulary_fini(&state->fitted);
}

/* ---- fitting ---- */

/* The partial fit's entries become those of state->folded, which need not look at them again when it
 * was the last to do so. */
static void take_partial(struct state *state, struct weir_buf *partial)
{
    struct vocabulary *folded = &state->folded;
    bool is_known = partial->size > 0 && weir_get_u64(partial->at) == state->serial;
    uint8_t head[PARTIAL_HEAD_BYTES] = {0};
    if (partial->size == 0)
        weir_buf_append(partial, head, sizeof(head));
    if (is_known)
        return;
    weir_buf_clear(&folded->pool);
    weir_buf_append(&folded->pool, partial->at + sizeof(head), partial->size - sizeof(head));
    weir_require(preprocess_vocabulary_index(folded, state->keys.columns)); /* it is our own */
}

static void give_partial(struct state *state, uint64_t left_out, struct weir_buf *partial)
{
    weir_put_u64(partial->at, ++state->serial);
    weir_put_u64(partial->at + 8, weir_get_u64(partial->at + 8) + left_out);
    partial->size = PARTIAL_HEAD_BYTES;
    weir_buf_append(partial, state->folded.pool.at, state->folded.pool.size);
}

static void fold(void *owner, const struct operator_call *call, struct weir_buf *partial)
{
    struct state *state = owner;
    uint64_t left_out = 0;
    take_partial(state, partial);
    for (size_t row = 0; row < call->rows; row++) {
        struct keys_row elements = preprocess_keys_row(&state->keys, call->in, row);
        for (size_t i = 0; i < elements.count && call->failed[row] == OPERATOR_ROW_OK; i++) {
            uint8_t number[8];
            struct vocabulary_entry entry = {
                .column = state->keys.columns > 1 ? (uint32_t)i : 0,
                .key = preprocess_keys_at(&state->keys, call->in, elements.first + i, number),
                .number = 1};
            left_out +=
                !preprocess_vocabulary_count(&state->folded, &entry, call->partial_bytes_max);
        }
    }
    give_partial(state, left_out, partial);
}

static enum weir_status merge(void *owner, struct weir_bytes partial, struct weir_error *err)
{
    struct state *state = owner;
    struct vocabulary *folded = &state->folded;
    preprocess_vocabulary_clear(folded);
    state->serial++;
    if (partial.size >= PARTIAL_HEAD_BYTES)
        weir_buf_append(&folded->pool, partial.at + PARTIAL_HEAD_BYTES,
                        partial.size - PARTIAL_HEAD_BYTES);
    if (partial.size < PARTIAL_HEAD_BYTES ||
        !preprocess_vocabulary_index(folded, state->keys.columns))
        return weir_fail(err, WEIR_INVALID, "vocab: partial fit of %zu bytes is malformed",
                         partial.size);
    state->left_out += weir_get_u64(partial.at + 8);
    for (size_t i = 0; i < preprocess_vocabulary_size(folded); i++) {
        struct vocabulary_entry entry = preprocess_vocabulary_at(folded, i);
        if (!preprocess_vocabulary_count(&state->merged, &entry, MERGED_BYTES_MAX))
            state->left_out += entry.number;
    }
    return WEIR_OK;
}

/* True when every entry has the number of its place. */
static bool is_numbered_alike(const struct state *state, const struct vocabulary *vocabulary)
{
    uint32_t column = 0;
    size_t first = 0;
    for (size_t i = 0; i < preprocess_vocabulary_size(vocabulary); i++) {
        struct vocabulary_entry entry = preprocess_vocabulary_at(vocabulary, i);
        if (entry.column < column)
            return false;
        first = entry.column > column ? i : first;
        column = entry.column;
        if (entry.number != state->options.reserved + i - first)
            return false;
    }
    return true;
}

static enum weir_status extend(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct vocabulary *merged = &state->merged;
    preprocess_vocabulary_clear(merged);
    if (fitted.size >= FITTED_HEAD_BYTES)
        weir_buf_append(&merged->pool, fitted.at + FITTED_HEAD_BYTES,
                        fitted.size - FITTED_HEAD_BYTES);
    if (fitted.size < FITTED_HEAD_BYTES ||
        !preprocess_vocabulary_index(merged, state->keys.columns))
        return weir_fail(err, WEIR_INVALID,
                         "vocab: found a vocabulary of %zu bytes to go on from, expected one for "
                         "%u columns",
                         fitted.size, state->keys.columns);
    if (!is_numbered_alike(state, merged))
        return weir_fail(err, WEIR_INVALID,
                         "vocab: the vocabulary to go on from is not numbered from %lu on, as "
                         "`reserved` says",
                         state->options.reserved);
    state->inherited = preprocess_vocabulary_size(merged);
    return WEIR_OK;
}

/* An entry on its way to a number. */
struct candidate {
    uint32_t column;
    bool is_new;
    uint64_t count;
    size_t entry; /* in the order of first sight */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_order(const struct candidate *a, const struct candidate *b)
{
    if (a->column != b->column)
        return compare_numbers(a->column, b->column);
    return a->is_new - b->is_new;
}

static int compare_sight(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_order(a, b);
    return order != 0 ? order : compare_numbers(a->entry, b->entry);
}

static int compare_frequency(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_order(a, b);
    if (order == 0 && a->is_new)
        order = compare_numbers(b->count, a->count);
    return order != 0 ? order : compare_numbers(a->entry, b->entry);
}

static size_t list_candidates(const struct state *state, struct candidate *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < preprocess_vocabulary_size(&state->merged); i++) {
        struct vocabulary_entry entry = preprocess_vocabulary_at(&state->merged, i);
        bool is_new = i >= state->inherited;
        if (!is_new || entry.number >= state->options.min_count)
            candidates[count++] = (struct candidate){entry.column, is_new, entry.number, i};
    }
    return count;
}

/* Keeps the first `size` of each column; what was inherited stays in any case. */
static size_t cut(const struct state *state, struct candidate *candidates, size_t count)
{
    size_t kept = 0, of_column = 0;
    for (size_t i = 0; i < count; i++) {
        of_column = i > 0 && candidates[i].column == candidates[i - 1].column ? of_column + 1 : 0;
        if (!candidates[i].is_new || of_column < state->options.size)
            candidates[kept++] = candidates[i];
    }
    return kept;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    (void)err;
    struct state *state = owner;
    struct vocabulary numbered = {0};
    WEIR_AUTO_FREE struct candidate *candidates =
        weir_calloc(preprocess_vocabulary_size(&state->merged) + 1, sizeof(*candidates));
    size_t count = list_candidates(state, candidates);
    qsort(candidates, count, sizeof(*candidates), compare_frequency);
    count = cut(state, candidates, count);
    if (state->options.order == BY_FIRST_SIGHT)
        qsort(candidates, count, sizeof(*candidates), compare_sight);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (candidates[i].column != candidates[first].column)
            first = i;
        struct vocabulary_entry entry =
            preprocess_vocabulary_at(&state->merged, candidates[i].entry);
        entry.number = state->options.reserved + i - first;
        weir_require(preprocess_vocabulary_count(&numbered, &entry, MERGED_BYTES_MAX));
    }
    weir_buf_append_u64(fitted, state->left_out);
    weir_buf_append(fitted, numbered.pool.at, numbered.pool.size);
    preprocess_vocabulary_fini(&numbered);
    return WEIR_OK;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct vocabulary *vocabulary = &state->fitted;
    preprocess_vocabulary_clear(vocabulary);
    bool is_whole = fitted.size >= FITTED_HEAD_BYTES;
    if (is_whole)
        weir_buf_append(&vocabulary->pool, fitted.at + FITTED_HEAD_BYTES,
                        fitted.size - FITTED_HEAD_BYTES);
    is_whole = is_whole && preprocess_vocabulary_index(vocabulary, state->keys.columns);
    for (size_t i = 0; i < preprocess_vocabulary_size(vocabulary); i++)
        is_whole = is_whole && preprocess_vocabulary_at(vocabulary, i).number <= INT32_MAX;
    if (is_whole)
        return WEIR_OK;
    preprocess_vocabulary_clear(vocabulary);
    return weir_fail(err, WEIR_INVALID,
                     "vocab: fitted state of %zu bytes, expected a vocabulary for %u columns",
                     fitted.size, state->keys.columns);
}

/* ---- numbers ---- */

static uint64_t bound(const void *owner)
{
    return preprocess_vocabulary_bound(&((const struct state *)owner)->fitted);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct column *out = &call->out[0];
    size_t first = preprocess_keys_row(&state->keys, call->in, 0).first;
    struct keys_row last = preprocess_keys_row(&state->keys, call->in, call->rows - 1);
    weir_buf_reserve(&out->values, (last.first + last.count - first) * sizeof(int32_t));
    int32_t *to = (int32_t *)(void *)(out->values.at + out->values.size);
    for (size_t row = 0; row < call->rows; row++) {
        struct keys_row elements = preprocess_keys_row(&state->keys, call->in, row);
        for (size_t i = 0; i < elements.count; i++) {
            uint8_t number[8];
            struct weir_bytes key =
                preprocess_keys_at(&state->keys, call->in, elements.first + i, number);
            int64_t entry = preprocess_vocabulary_find(
                &state->fitted, state->keys.columns > 1 ? (uint32_t)i : 0, key);
            *to++ = entry == VOCABULARY_NONE
                        ? 0
                        : (int32_t)preprocess_vocabulary_at(&state->fitted, (size_t)entry).number;
        }
        out->values.size += elements.count * sizeof(int32_t);
        if (out->about.kind == COLUMN_RAGGED)
            preprocess_column_end_row(out);
    }
}

static const struct operator_fit FIT = {
    .fold = fold,
    .merge = merge,
    .finish = finish,
    .load = load,
    .extend = extend,
    .bound = bound,
};

const struct preprocess_operator preprocess_operator_vocab = {
    .name = "vocab",
    .summary = "words, texts or ids to the numbers of a vocabulary, fitted on the set",
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
