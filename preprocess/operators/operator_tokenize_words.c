/* tokenize_words: text → words. A word is a run of ASCII letters, digits, underscores and
 * characters beyond ASCII; with `marks`, each other visible character is a word of its own. The
 * words are spans of the text: nothing is copied per word. */
#include "preprocess/operators/operator.h"

#include <string.h>

struct options {
    const char *on;
    uint64_t max_tokens;
    bool marks;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of text or bytes"),
    CFG_U64(struct options, max_tokens, .fallback = "4096", .min = 1, .max = 1 << 20,
            .doc = "words kept of each sample; the rest is cut off"),
    CFG_BOOL(struct options, marks, .fallback = "false",
             .doc = "punctuation marks are words, one each"),
    CFG_END,
};

struct state {
    uint64_t max_tokens;
    bool marks;
};

static enum weir_status plan(void *owner, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *chosen = options;
    *state = (struct state){.max_tokens = chosen->max_tokens, .marks = chosen->marks};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("words", COLUMN_TOKENS, 0, 0);
    return operator_schema_pick(schema, chosen->on, 1u << COLUMN_TEXT | 1u << COLUMN_BYTES,
                                &ret_plan->in, err);
}

/* ---- a block of text as bits ---- */

enum { BLOCK = 64 };

/* Bit i says what byte i is. */
struct kinds {
    uint64_t words, marks;
};

/* 1 for each byte of a kind, 0 for others. */
WEIR_CLONES
static void find_words(const uint8_t *at, uint8_t *restrict flags)
{
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = at[i], letter = (uint8_t)((byte | 0x20) - 'a'),
                digit = (uint8_t)(byte - '0');
        flags[i] = (letter < 26) | (digit < 10) | (byte == '_') | (byte >= 0x80);
    }
}

WEIR_CLONES
static void find_visible(const uint8_t *at, uint8_t *restrict flags)
{
    for (size_t i = 0; i < BLOCK; i++)
        flags[i] = (at[i] > ' ') & (at[i] != 0x7f);
}

/* Eight flags at a time are drawn together by a product: byte i goes to bit i of the highest byte. */
static uint64_t bits_of(const uint8_t flags[BLOCK])
{
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK / 8; i++)
        bits |= (weir_get_u64(flags + 8 * i) * 0x0102040810204080u >> 56) << (8 * i);
    return bits;
}

/* The `size` bytes from `at` on, BLOCK at most; behind them there are blanks. `end` is that of all text. */
static struct kinds kinds_at(const uint8_t *at, size_t size, const uint8_t *end, bool marks)
{
    uint8_t rest[BLOCK], flags[BLOCK];
    struct kinds kinds = {0};
    if (end - at < BLOCK) {
        memset(rest, ' ', BLOCK);
        memcpy(rest, at, size);
        at = rest;
    }
    uint64_t mask = size < BLOCK ? ((uint64_t)1 << size) - 1 : UINT64_MAX;
    find_words(at, flags);
    kinds.words = bits_of(flags) & mask;
    if (marks) {
        find_visible(at, flags);
        kinds.marks = bits_of(flags) & mask & ~kinds.words;
    }
    return kinds;
}

/* ---- words ---- */

/* Where words begin and end, from which byte on: each list goes on from block to block. */
struct places {
    struct column_span *begin, *end; /* the next to be filled in */
    bool is_word, is_mark;           /* the last byte of the block before */
};

/* Looks only at where words begin and end, instead of at each byte. A mark is a word of one byte. */
static void add_block(struct places *places, const struct kinds *kinds, uint32_t at)
{
    uint64_t words_before = kinds->words << 1 | places->is_word;
    uint64_t begin = (kinds->words & ~words_before) | kinds->marks;
    uint64_t end = (words_before & ~kinds->words) | kinds->marks << 1 | places->is_mark;
    for (; begin != 0; begin &= begin - 1)
        (places->begin++)->start = at + (uint32_t)__builtin_ctzll(begin);
    for (; end != 0; end &= end - 1)
        (places->end++)->size = at + (uint32_t)__builtin_ctzll(end); /* its place, for now */
    places->is_word = kinds->words >> (BLOCK - 1) != 0;
    places->is_mark = kinds->marks >> (BLOCK - 1) != 0;
}

/* The words of a row that begins at `base` of the text, and its `size` bytes. */
static void tokenize_row(const struct state *state, uint32_t base, size_t size, struct column *out)
{
    const uint8_t *text = out->values.at + base, *end = out->values.at + out->values.size;
    size_t most = size < state->max_tokens ? size : state->max_tokens;
    weir_buf_reserve(&out->spans, (most + BLOCK + 1) * sizeof(struct column_span));
    struct column_span *first = (struct column_span *)(void *)(out->spans.at + out->spans.size);
    struct places places = {.begin = first, .end = first};
    /* One block more than there are ends the last word. */
    for (size_t at = 0; at <= size && places.end < first + state->max_tokens; at += BLOCK) {
        size_t left = size - at < BLOCK ? size - at : BLOCK;
        struct kinds kinds = kinds_at(text + at, left, end, state->marks);
        add_block(&places, &kinds, base + (uint32_t)at);
    }
    size_t count = (size_t)(places.end - first);
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++)
        first[i].size -= first[i].start;
    out->spans.size += count * sizeof(*first);
}

static void apply(void *state, struct operator_call *call)
{
    struct column *out = &call->out[0];
    const uint32_t *offsets = column_offsets(call->in);
    uint32_t base = offsets[0];
    weir_buf_append(&out->values, call->in->values.at + base, offsets[call->rows] - base);
    for (size_t i = 0; i < call->rows; i++) {
        tokenize_row(state, offsets[i] - base, offsets[i + 1] - offsets[i], out);
        column_end_row(out);
    }
}

const struct preprocess_operator operator_tokenize_words = {
    .name = "tokenize_words",
    .summary = "text to words",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
};
