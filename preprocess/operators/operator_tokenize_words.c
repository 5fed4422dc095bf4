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
static void classify(const uint8_t *at, uint8_t *restrict words, uint8_t *restrict marks)
{
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = at[i], letter = (uint8_t)((byte | 0x20) - 'a'),
                digit = (uint8_t)(byte - '0');
        words[i] = (letter < 26) | (digit < 10) | (byte == '_') | (byte >= 0x80);
        marks[i] = (byte > ' ') & (byte != 0x7f) & (words[i] == 0);
    }
}

/* Eight flags at a time are drawn together by a product: byte i goes to bit i of the highest byte. */
static uint64_t bits_of(const uint8_t flags[BLOCK])
{
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK / 8; i++)
        bits |= (weir_get_u64(flags + 8 * i) * 0x0102040810204080u >> 56) << (8 * i);
    return bits;
}

/* The bytes from `at` on; behind the end of the row there are blanks. */
static struct kinds kinds_at(struct weir_bytes row, size_t at, bool marks)
{
    uint8_t rest[BLOCK], word_flags[BLOCK], mark_flags[BLOCK];
    const uint8_t *block = row.at + at;
    if (row.size - at < BLOCK) {
        memset(rest, ' ', BLOCK);
        memcpy(rest, block, row.size - at);
        block = rest;
    }
    classify(block, word_flags, mark_flags);
    return (struct kinds){.words = bits_of(word_flags), .marks = marks ? bits_of(mark_flags) : 0};
}

/* ---- words ---- */

/* Looks only at where words begin and end, and at marks, instead of at each byte. */
static void tokenize_row(struct weir_bytes row, const struct state *state, struct column *out)
{
    size_t base = out->values.size, start = 0;
    uint64_t most = row.size < state->max_tokens ? row.size : state->max_tokens;
    bool is_inside = false; /* of a word, which began at `start` */
    weir_buf_append(&out->values, row.at, row.size);
    weir_buf_reserve(&out->spans, (most + 2) * sizeof(struct column_span));
    struct column_span *first = (struct column_span *)(void *)(out->spans.at + out->spans.size);
    struct column_span *span = first, *end = first + most;
    /* One block more than there are ends the last word. */
    for (size_t at = 0; at <= row.size && span < end; at += BLOCK) {
        struct kinds kinds = kinds_at(row, at, state->marks);
        uint64_t left = (kinds.words ^ (kinds.words << 1 | is_inside)) | kinds.marks;
        for (; left != 0 && span < end; left &= left - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(left);
            size_t place = at + bit;
            *span = (struct column_span){(uint32_t)(base + start), (uint32_t)(place - start)};
            span += is_inside;
            is_inside = (kinds.words >> bit & 1) != 0;
            start = place;
            if ((kinds.marks >> bit & 1) != 0)
                *span++ = (struct column_span){(uint32_t)(base + place), 1};
        }
    }
    size_t count = (size_t)(span - first);
    out->spans.size += (count < most ? count : most) * sizeof(*span);
}

static void apply(void *state, struct operator_call *call)
{
    struct column *out = &call->out[0];
    for (size_t i = 0; i < call->rows; i++) {
        tokenize_row(column_row(call->in, i), state, out);
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
