/* bpe: text → numbers of tokens by byte pair encoding, a ragged i32 tensor `tokens`, as GPT-2 does (Radford et al.,
 * 2019; Sennrich, Haddow & Birch, ACL 2016). The text is cut into words with the blank before them; a word is
 * a row of bytes, of which the two neighbours that stand first among the merges are joined, again and again.
 * Every byte has a token, so that nothing is unknown, and nothing fails.
 *
 * Vocabulary and merges are read when a job is opened, and sealed (C16). Sealed: u64 bytes of the vocabulary, the
 * vocabulary, the merges (lexicon.h). */
#include "preprocess/operators/operator.h"
#include "preprocess/operators/text/lexicon.h"
#include "preprocess/operators/text/unicode.h"

#include "core/base/heap.h"
#include "core/base/utf8.h"

#include <string.h>

#define NONE UINT32_MAX

struct options {
    const char *on;
    const char *vocabulary;
    const char *merges;
    const char *begin, *end;
    bool blank;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of text or bytes"),
    CFG_TEXT(struct options, vocabulary, .required = true,
             .doc = "file of token and number (vocab.json); a relative path starts where the "
                    "platform was started"),
    CFG_TEXT(struct options, merges, .required = true,
             .doc = "file of one merge a line (merges.txt), the first ones first"),
    CFG_TEXT(struct options, begin, .doc = "token that each row begins with"),
    CFG_TEXT(struct options, end, .doc = "token that each row ends with: <|endoftext|>"),
    CFG_BOOL(struct options, blank, .fallback = "false", .doc = "put a blank in front of a row"),
    CFG_TEXT(struct options, as, .fallback = "tokens", .doc = "name of the tensor"),
    CFG_END,
};

/* A piece of the word under way: a token, and its neighbours. */
struct piece {
    uint32_t token; /* NONE: joined to the one before */
    uint32_t before, behind;
};

/* Two neighbours that may be joined. */
struct joint {
    uint32_t rank;
    uint32_t at;
};

struct state {
    const struct options *options;
    struct vocabulary lexicon, merges;
    int32_t begin, end;
    uint32_t of_byte[256];
    struct weir_buf row;    /* with the blank in front */
    struct weir_buf pieces; /* struct piece */
    struct weir_buf joints; /* struct joint, a heap */
};

static enum weir_status plan(void *owner, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    state->options = options;
    return preprocess_lexicon_plan(state->options->on, state->options->as, schema, ret_plan, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_vocabulary_fini(&state->lexicon);
    preprocess_vocabulary_fini(&state->merges);
    weir_buf_fini(&state->row);
    weir_buf_fini(&state->pieces);
    weir_buf_fini(&state->joints);
}

/* ---- the vocabulary ---- */

static enum weir_status find_special(struct state *state, struct weir_error *err)
{
    const struct options *options = state->options;
    for (unsigned byte = 0; byte < WEIR_COUNT(state->of_byte); byte++) {
        int64_t number =
            preprocess_lexicon_number(&state->lexicon, 0, weir_bytes(&(uint8_t){(uint8_t)byte}, 1));
        if (number < 0)
            return weir_fail(err, WEIR_INVALID,
                             "%s: no token for the byte 0x%02x, expected one for each",
                             options->vocabulary, byte);
        state->of_byte[byte] = (uint32_t)number;
    }
    enum weir_status status =
        preprocess_lexicon_special(&state->lexicon, "begin", options->begin, &state->begin, err);
    if (status == WEIR_OK)
        status = preprocess_lexicon_special(&state->lexicon, "end", options->end, &state->end, err);
    return status;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    struct state *state = owner;
    preprocess_vocabulary_clear(&state->lexicon);
    preprocess_vocabulary_clear(&state->merges);
    enum weir_status status =
        preprocess_lexicon_read_json(state->options->vocabulary, &state->lexicon, err);
    if (status == WEIR_OK)
        status = preprocess_lexicon_read_merges(state->options->merges, &state->lexicon,
                                                &state->merges, err);
    if (status == WEIR_OK)
        status = find_special(state, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append_u64(fitted, state->lexicon.pool.size);
    weir_buf_append(fitted, state->lexicon.pool.at, state->lexicon.pool.size);
    weir_buf_append(fitted, state->merges.pool.at, state->merges.pool.size);
    return WEIR_OK;
}

/* Keys of merges are pairs. */
static bool are_pairs(const struct vocabulary *merges)
{
    for (size_t i = 0; i < preprocess_vocabulary_size(merges); i++) {
        if (preprocess_vocabulary_at(merges, i).key.size != LEXICON_PAIR_BYTES)
            return false;
    }
    return true;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct weir_bytes merges = fitted, lexicon;
    uint64_t size;
    bool is_whole = weir_take_u64(&merges, &size) && weir_take(&merges, size, &lexicon) &&
                    preprocess_lexicon_open(&state->lexicon, lexicon, 1) &&
                    preprocess_lexicon_open(&state->merges, merges, 1) && are_pairs(&state->merges);
    if (!is_whole)
        return weir_fail(err, WEIR_INVALID, "bpe: %zu bytes, expected a sealed vocabulary",
                         fitted.size);
    return find_special(state, err);
}

/* ---- the heap: the first merge lies on top, of equal ones the one on the left ---- */

static bool is_sooner(const void *a, const void *b, const void *owner)
{
    const struct joint *x = a, *y = b;
    (void)owner;
    return x->rank != y->rank ? x->rank < y->rank : x->at < y->at;
}

static const struct weir_heap_order SOONEST = {.element_bytes = sizeof(struct joint),
                                               .is_before = is_sooner};

static void push(struct weir_buf *heap, struct joint joint)
{
    weir_buf_append(heap, &joint, sizeof(joint));
    weir_heap_rise(&SOONEST, heap->at, heap->size / sizeof(joint) - 1, NULL);
}

static bool pop(struct weir_buf *heap, struct joint *ret_joint)
{
    struct joint *joints = (struct joint *)(void *)heap->at;
    size_t count = heap->size / sizeof(*joints);
    if (count == 0)
        return false;
    *ret_joint = joints[0];
    joints[0] = joints[count - 1];
    heap->size -= sizeof(*joints);
    weir_heap_sink(&SOONEST, joints, count - 1, 0, NULL);
    return true;
}

/* ---- words to tokens ---- */

/* The merge of the piece at `at` and the one after: its place among the merges, or VOCABULARY_NONE. */
static int64_t merge_at(const struct state *state, const struct piece *pieces, uint32_t at)
{
    uint8_t key[LEXICON_PAIR_BYTES];
    if (at == NONE || pieces[at].token == NONE || pieces[at].behind == NONE)
        return VOCABULARY_NONE;
    return preprocess_vocabulary_find(
        &state->merges, 0,
        preprocess_lexicon_pair(pieces[at].token, pieces[pieces[at].behind].token, key));
}

static void offer(struct state *state, const struct piece *pieces, uint32_t at)
{
    int64_t rank = merge_at(state, pieces, at);
    if (rank != VOCABULARY_NONE)
        push(&state->joints, (struct joint){(uint32_t)rank, at});
}

static void join(struct state *state, struct piece *pieces, struct joint joint)
{
    struct piece *left = &pieces[joint.at], *right = &pieces[left->behind];
    left->token = (uint32_t)preprocess_vocabulary_at(&state->merges, joint.rank).number;
    left->behind = right->behind;
    right->token = NONE;
    if (left->behind != NONE)
        pieces[left->behind].before = joint.at;
    offer(state, pieces, left->before);
    offer(state, pieces, joint.at);
}

static void encode_word(struct state *state, struct weir_bytes word, struct column *out)
{
    struct joint joint;
    uint32_t count = (uint32_t)word.size;
    weir_buf_clear(&state->pieces);
    weir_buf_clear(&state->joints);
    weir_buf_reserve(&state->pieces, count * sizeof(struct piece));
    struct piece *pieces = (struct piece *)(void *)state->pieces.at;
    for (uint32_t i = 0; i < count; i++)
        pieces[i] = (struct piece){.token = state->of_byte[word.at[i]],
                                   .before = i > 0 ? i - 1 : NONE,
                                   .behind = i + 1 < count ? i + 1 : NONE};
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(state, pieces, i);
    while (pop(&state->joints, &joint)) {
        if (merge_at(state, pieces, joint.at) == joint.rank) /* else it was joined otherwise */
            join(state, pieces, joint);
    }
    for (uint32_t i = 0; i != NONE; i = pieces[i].behind)
        weir_buf_append(&out->values, &pieces[i].token, sizeof(pieces[i].token));
}

/* ---- text to words ---- */

enum class { BLANK, LETTER, NUMBER, OTHER };

static enum class class_at(struct weir_bytes text, size_t at, size_t *ret_size) {
    static const enum class OF_KIND[] =
        {
            [UNICODE_SYMBOL] = OTHER,
            [UNICODE_LETTER] = LETTER,
            [UNICODE_NUMBER] = NUMBER,
            [UNICODE_MARK] = OTHER,
            [UNICODE_PUNCTUATION] = OTHER,
            [UNICODE_SPACE] = BLANK,
            [UNICODE_CONTROL] = OTHER,
        };
    uint32_t code = weir_utf8_decode(weir_bytes(text.at + at, text.size - at), ret_size);
    return OF_KIND[preprocess_unicode_kind_of(code)];
}

/* Returns the end of the run of one class that begins at `at`; `ret_last`: the start of its last character. */
static size_t end_of_run(struct weir_bytes text, size_t at, enum class class, size_t *ret_last)
{
    size_t size = 0;
    *ret_last = at;
    while (at < text.size && class_at(text, at, &size) == class) {
        *ret_last = at;
        at += size;
    }
    return at;
}

/* 's, 't, 're, 've, 'm, 'll, 'd; 0: none of them. */
static size_t short_form(struct weir_bytes rest)
{
    static const char *const FORMS[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < WEIR_COUNT(FORMS); i++) {
        size_t size = strlen(FORMS[i]);
        if (rest.size >= size && memcmp(rest.at, FORMS[i], size) == 0)
            return size;
    }
    return 0;
}

/* The bytes of the word that `rest` begins with: a short form; letters, numbers or others, with one blank before
 * them; or blanks, of which the last one is left to the word after. */
static size_t word_size(struct weir_bytes rest)
{
    size_t size, last, form = short_form(rest);
    if (form > 0)
        return form;
    enum class class = class_at(rest, 0, &size);
    bool has_blank = rest.at[0] == ' ' && rest.size > 1;
    if (has_blank)
        class = class_at(rest, 1, &size);
    if (class != BLANK)
        return end_of_run(rest, has_blank, class, &last);
    size_t end = end_of_run(rest, 0, BLANK, &last);
    return end == rest.size || last == 0 ? end : last;
}

static struct weir_bytes row_of(struct state *state, struct weir_bytes row)
{
    if (!state->options->blank || row.size == 0 || row.at[0] == ' ')
        return row;
    weir_buf_clear(&state->row);
    weir_buf_append(&state->row, " ", 1);
    weir_buf_append(&state->row, row.at, row.size);
    return weir_buf_view(&state->row);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    struct column *out = &call->out[0];
    for (size_t i = 0; i < call->rows; i++) {
        struct weir_bytes row = row_of(state, column_row(call->in, i));
        if (state->begin >= 0)
            weir_buf_append(&out->values, &state->begin, sizeof(state->begin));
        for (size_t at = 0, size; at < row.size; at += size) {
            size = word_size(weir_bytes(row.at + at, row.size - at));
            encode_word(state, weir_bytes(row.at + at, size), out);
        }
        if (state->end >= 0)
            weir_buf_append(&out->values, &state->end, sizeof(state->end));
        preprocess_column_end_row(out);
    }
}

static uint64_t bound(const void *owner)
{
    return preprocess_vocabulary_bound(&((const struct state *)owner)->lexicon);
}

static const struct operator_fit FIT = {
    .finish = finish,
    .load = load,
    .bound = bound,
};

const struct preprocess_operator preprocess_operator_bpe = {
    .name = "bpe",
    .summary = "text to the numbers of byte pair tokens, of a given vocabulary, as GPT-2 does",
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
