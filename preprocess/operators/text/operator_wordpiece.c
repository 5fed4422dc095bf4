/* wordpiece: text → numbers of word pieces, a ragged i32 tensor `tokens`, as BERT does (Devlin et al., NAACL 2019;
 * Schuster & Nakajima, ICASSP 2012): the text is cut at blanks and around punctuation marks and CJK ideographs,
 * folded to lower case without accents, and of each word the longest piece that the vocabulary has is taken,
 * again and again. A word with a rest that it has not is the unknown token.
 *
 * The vocabulary is read when a job is opened, and sealed (C16). Sealed: its entries, in the columns of lexicon.h. */
#include "preprocess/operators/operator.h"
#include "preprocess/operators/text/lexicon.h"
#include "preprocess/operators/text/unicode.h"

#include "core/base/utf8.h"

#include <string.h>

struct options {
    const char *on;
    const char *vocabulary;
    bool lower;
    const char *unknown;
    const char *begin, *end;
    uint64_t word_max;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of text or bytes"),
    CFG_TEXT(struct options, vocabulary, .required = true,
             .doc = "file of one token a line (vocab.txt); a relative path starts where the "
                    "platform was started"),
    CFG_BOOL(struct options, lower, .fallback = "true", .doc = "lower case, without accents"),
    CFG_TEXT(struct options, unknown, .fallback = "[UNK]", .doc = "token of what is not in it"),
    CFG_TEXT(struct options, begin, .doc = "token that each row begins with: [CLS]"),
    CFG_TEXT(struct options, end, .doc = "token that each row ends with: [SEP]"),
    CFG_U64(struct options, word_max, .fallback = "100", .min = 1, .max = 1000,
            .doc = "a longer word, in characters, is unknown"),
    CFG_TEXT(struct options, as, .fallback = "tokens", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    const struct options *options;
    struct vocabulary lexicon;
    size_t longest; /* bytes of a token */
    int32_t unknown, begin, end;
    /* the word under way */
    struct weir_buf word;
    size_t characters;
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
    weir_buf_fini(&state->word);
}

/* ---- the vocabulary ---- */

static enum weir_status find_special(struct state *state, struct weir_error *err)
{
    const struct options *options = state->options;
    const struct vocabulary *lexicon = &state->lexicon;
    enum weir_status status =
        preprocess_lexicon_special(lexicon, "unknown", options->unknown, &state->unknown, err);
    if (status == WEIR_OK)
        status = preprocess_lexicon_special(lexicon, "begin", options->begin, &state->begin, err);
    if (status == WEIR_OK)
        status = preprocess_lexicon_special(lexicon, "end", options->end, &state->end, err);
    return status;
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    struct state *state = owner;
    preprocess_vocabulary_clear(&state->lexicon);
    enum weir_status status =
        preprocess_lexicon_read_lines(state->options->vocabulary, &state->lexicon, err);
    if (status == WEIR_OK)
        status = find_special(state, err);
    if (status == WEIR_OK)
        weir_buf_append(fitted, state->lexicon.pool.at, state->lexicon.pool.size);
    return status;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    if (!preprocess_lexicon_open(&state->lexicon, fitted, LEXICON_COLUMNS))
        return weir_fail(err, WEIR_INVALID, "wordpiece: %zu bytes, expected a sealed vocabulary",
                         fitted.size);
    state->longest = 0;
    for (size_t i = 0; i < preprocess_vocabulary_size(&state->lexicon); i++) {
        size_t size = preprocess_vocabulary_at(&state->lexicon, i).key.size;
        state->longest = size > state->longest ? size : state->longest;
    }
    return find_special(state, err);
}

/* ---- words to pieces ---- */

static void put(struct column *out, int64_t number)
{
    weir_buf_append(&out->values, &(int32_t){(int32_t)number}, sizeof(int32_t));
}

static bool is_inside_character(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The number of the longest piece that `rest` begins with, or -1. */
static int64_t longest_piece(const struct state *state, uint32_t column, struct weir_bytes rest,
                             size_t *ret_size)
{
    size_t size = rest.size < state->longest ? rest.size : state->longest;
    int64_t number = -1;
    for (; size > 0 && number < 0; size--) {
        if (size == rest.size || !is_inside_character(rest.at[size]))
            number = preprocess_lexicon_number(&state->lexicon, column, weir_bytes(rest.at, size));
        if (number >= 0)
            break;
    }
    *ret_size = size;
    return number;
}

static void end_word(struct state *state, struct column *out)
{
    size_t before = out->values.size, size = 0;
    struct weir_bytes word = weir_buf_view(&state->word);
    bool is_known = state->characters <= state->options->word_max;
    for (size_t at = 0; is_known && at < word.size; at += size) {
        int64_t number = longest_piece(state, at == 0 ? LEXICON_WHOLE : LEXICON_INNER,
                                       weir_bytes(word.at + at, word.size - at), &size);
        is_known = number >= 0;
        put(out, number);
    }
    if (!is_known) {
        out->values.size = before;
        put(out, state->unknown);
    }
    weir_buf_clear(&state->word);
    state->characters = 0;
}

/* ---- text to words ---- */

static bool is_mark(uint32_t code)
{
    bool is_ascii = code > ' ' && code < 0x7f;
    bool is_word = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                   (code >= 'a' && code <= 'z');
    return is_ascii ? !is_word : preprocess_unicode_kind_of(code) == UNICODE_PUNCTUATION;
}

static bool is_ideograph(uint32_t code)
{
    static const uint32_t BLOCKS[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };
    for (size_t i = 0; code >= BLOCKS[0][0] && i < WEIR_COUNT(BLOCKS); i++) {
        if (code >= BLOCKS[i][0] && code <= BLOCKS[i][1])
            return true;
    }
    return false;
}

/* Ends the word that is there, unless there is none. */
static void cut(struct state *state, struct column *out)
{
    if (state->word.size > 0)
        end_word(state, out);
}

static void add_character(struct state *state, uint32_t code, struct column *out)
{
    uint8_t bytes[4];
    bool is_alone = is_mark(code);
    if (is_alone)
        cut(state, out);
    weir_buf_append(&state->word, bytes, weir_utf8_encode(code, bytes));
    /* what is too long is unknown, however long it is */
    if (++state->characters > state->options->word_max)
        state->word.size = 1;
    if (is_alone)
        end_word(state, out);
}

static bool is_dropped(uint32_t code, enum unicode_kind kind)
{
    return kind == UNICODE_CONTROL || code == WEIR_UTF8_REPLACEMENT || code == '\v' ||
           code == '\f' || code == 0x85;
}

static void add_code(struct state *state, uint32_t code, struct column *out)
{
    uint32_t folded[UNICODE_FOLD_MAX] = {code};
    size_t count = 1;
    enum unicode_kind kind = preprocess_unicode_kind_of(code);
    bool is_alone = is_ideograph(code);
    if (is_dropped(code, kind))
        return;
    if (kind == UNICODE_SPACE || is_alone)
        cut(state, out);
    if (kind == UNICODE_SPACE)
        return;
    if (state->options->lower)
        count = preprocess_unicode_fold(code, folded);
    for (size_t i = 0; i < count; i++)
        add_character(state, folded[i], out);
    if (is_alone)
        cut(state, out);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    struct column *out = &call->out[0];
    for (size_t i = 0; i < call->rows; i++) {
        struct weir_bytes row = column_row(call->in, i);
        if (state->begin >= 0)
            put(out, state->begin);
        for (size_t at = 0, taken = 0; at < row.size; at += taken)
            add_code(state, weir_utf8_decode(weir_bytes(row.at + at, row.size - at), &taken), out);
        cut(state, out);
        if (state->end >= 0)
            put(out, state->end);
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

const struct preprocess_operator preprocess_operator_wordpiece = {
    .name = "wordpiece",
    .summary = "text to the numbers of word pieces, of a given vocabulary, as BERT does",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .fit = &FIT,
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .repairs = true,
    .fini = fini,
};
