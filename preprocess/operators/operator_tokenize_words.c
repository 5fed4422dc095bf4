/* tokenize_words: text → words. A word is a run of ASCII letters, digits, underscores and
 * characters beyond ASCII; with `marks`, each other visible character is a word of its own. The
 * words are spans of the text: nothing is copied per word. */
#include "preprocess/operators/operator.h"

#include <string.h>

struct options {
    const char *on;
    uint64_t max_tokens;
    bool marks;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of text or bytes"),
    CFG_U64(struct options, max_tokens, .fallback = "4096", .min = 1, .max = 1 << 20,
            .doc = "words kept of each sample; the rest is cut off"),
    CFG_BOOL(struct options, marks, .fallback = "false",
             .doc = "punctuation marks are words, one each"),
    CFG_TEXT(struct options, as, .fallback = "words", .doc = "name of the column"),
    CFG_END,
};

enum {
    BLOCK = 64,
    STRETCH = 16 << 10, /* bytes of text that are looked at together */
    PUT = 12,           /* places that are written at once: a block seldom has more words */
};

struct state {
    uint64_t max_tokens;
    bool marks;
    struct weir_buf begins; /* of a stretch: u64 a block, in whose bits words begin, … */
    struct weir_buf before; /* … and u32 a block, how many begin before it */
};

static enum weir_status plan(void *owner, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *chosen = options;
    *state = (struct state){.max_tokens = chosen->max_tokens, .marks = chosen->marks};
    enum weir_status status =
        preprocess_operator_plan_output(ret_plan, chosen->as, COLUMN_TOKENS, 0, 0, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick(
        schema, chosen->on, 1u << COLUMN_TEXT | 1u << COLUMN_BYTES, &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    weir_buf_fini(&state->begins);
    weir_buf_fini(&state->before);
}

/* ---- a stretch of text: some rows, or one that is longer ---- */

struct stretch {
    size_t first, end; /* rows */
    uint32_t base;     /* its first byte in the column that is made */
    size_t blocks;
    size_t most; /* words that are looked for */
};

/* Rows from `first` on, whose text is appended with a blank after each row, so that no word goes on in the next
 * one; and after all there are blanks for the rest of a block. */
static struct stretch take_text(const struct state *state, const struct operator_call *call,
                                size_t first)
{
    const uint32_t *offsets = column_offsets(call->in);
    struct weir_buf *text = &call->out[0].values;
    struct stretch stretch = {first, first, (uint32_t)text->size, 0, SIZE_MAX};
    do {
        column_prefetch(call->in, stretch.end, call->rows);
        struct weir_bytes row = column_row(call->in, stretch.end++);
        weir_buf_reserve(text, row.size + 1 + BLOCK);
        if (row.size > 0)
            memcpy(text->at + text->size, row.at, row.size);
        text->size += row.size;
        text->at[text->size++] = ' ';
    } while (stretch.end < call->rows && offsets[stretch.end + 1] - offsets[first] <= STRETCH);
    memset(text->at + text->size, ' ', BLOCK);
    stretch.blocks = (text->size - stretch.base + BLOCK - 1) / BLOCK;
    if (stretch.end == first + 1)
        stretch.most = state->max_tokens;
    return stretch;
}

/* ---- a block of text as bits ---- */

/* Bit i says what byte i is. */
struct kinds {
    uint64_t words, marks;
};

/* Eight flags at a time are drawn together by a product: byte i goes to bit i of the highest byte. */
static WEIR_ALWAYS_INLINE uint64_t bits_of(const uint8_t flags[BLOCK])
{
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK / 8; i++)
        bits |= (weir_get_u64(flags + 8 * i) * 0x0102040810204080u >> 56) << (8 * i);
    return bits;
}

static WEIR_ALWAYS_INLINE struct kinds kinds_at(const uint8_t *at, bool marks)
{
    uint8_t word_flags[BLOCK], mark_flags[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = at[i], letter = (uint8_t)((byte | 0x20) - 'a'),
                digit = (uint8_t)(byte - '0');
        word_flags[i] = (letter < 26) | (digit < 10) | (byte == '_') | (byte >= 0x80);
        mark_flags[i] = (byte > ' ') & (byte != 0x7f) & (word_flags[i] == 0);
    }
    return (struct kinds){.words = bits_of(word_flags), .marks = marks ? bits_of(mark_flags) : 0};
}

/* ---- words ---- */

/* Places of first and last bytes of words: each list goes on from block to block. */
struct places {
    struct weir_span *begin, *end; /* the next to be filled in */
    bool is_word, is_mark;         /* the last byte of the block before */
};

/* Every second number from `to` on becomes the place of a bit. PUT at a time, though fewer are wanted: the
 * surplus is overwritten, or after the end. */
static WEIR_ALWAYS_INLINE void put_places(uint64_t bits, size_t count, uint32_t at, uint32_t *to)
{
    for (size_t i = 0; i < count; i += PUT) {
        for (size_t k = i; k < i + PUT; k++, bits &= bits - 1)
            to[2 * k] = at + (uint32_t)__builtin_ctzll(bits | (uint64_t)1 << (BLOCK - 1));
    }
}

/* Looks only at where words begin and end, instead of at each byte; a mark is a word of one byte. Returns the bits
 * of where they begin. */
static WEIR_ALWAYS_INLINE uint64_t add_block(struct places *places, const struct kinds *kinds,
                                             uint32_t at)
{
    uint64_t words_before = kinds->words << 1 | places->is_word;
    uint64_t begin = (kinds->words & ~words_before) | kinds->marks;
    uint64_t end = (words_before & ~kinds->words) | kinds->marks << 1 | places->is_mark;
    size_t begun = (size_t)__builtin_popcountll(begin), ended = (size_t)__builtin_popcountll(end);
    put_places(begin, begun, at, &places->begin->start);
    put_places(end, ended, at, &places->end->size); /* its place, for now */
    places->begin += begun;
    places->end += ended;
    places->is_word = kinds->words >> (BLOCK - 1) != 0;
    places->is_mark = kinds->marks >> (BLOCK - 1) != 0;
    return begin;
}

/* Fills in the spans of its words, and where they begin; returns how many there are, or more than `most`. */
static WEIR_ALWAYS_INLINE size_t find(const struct state *state, const uint8_t *text,
                                      const struct stretch *stretch, struct weir_span *spans,
                                      bool marks)
{
    uint64_t *begins = (uint64_t *)(void *)state->begins.at;
    uint32_t *before = (uint32_t *)(void *)state->before.at;
    struct places places = {.begin = spans, .end = spans};
    size_t block = 0;
    for (; block < stretch->blocks && (size_t)(places.end - spans) < stretch->most; block++) {
        uint32_t at = stretch->base + (uint32_t)(block * BLOCK);
        struct kinds kinds = kinds_at(text + at, marks);
        before[block] = (uint32_t)(places.begin - spans);
        begins[block] = add_block(&places, &kinds, at);
    }
    size_t count = (size_t)(places.end - spans);
    for (size_t i = 0; i < count; i++)
        spans[i].size -= spans[i].start;
    return count;
}

/* Compiled twice, so that marks cost nothing where they are not asked for. */
WEIR_CLONES
static size_t find_words(const struct state *state, const uint8_t *text,
                         const struct stretch *stretch, struct weir_span *spans)
{
    return state->marks ? find(state, text, stretch, spans, true)
                        : find(state, text, stretch, spans, false);
}

/* Returns the number of words of the stretch that begin before a byte of it. */
static WEIR_ALWAYS_INLINE size_t words_before(const struct state *state, size_t byte)
{
    uint64_t begins = ((const uint64_t *)(const void *)state->begins.at)[byte / BLOCK];
    uint64_t mask = ((uint64_t)1 << byte % BLOCK) - 1;
    return ((const uint32_t *)(const void *)state->before.at)[byte / BLOCK] +
           (size_t)__builtin_popcountll(begins & mask);
}

/* Gives each row its words, of which it keeps the first max_tokens. */
WEIR_CLONES
static void end_rows(const struct state *state, const struct operator_call *call,
                     const struct stretch *stretch, size_t count)
{
    const uint32_t *offsets = column_offsets(call->in);
    struct column *out = &call->out[0];
    struct weir_span *spans = (struct weir_span *)(void *)(out->spans.at + out->spans.size);
    uint32_t *ends = (uint32_t *)(void *)(out->offsets.at + out->offsets.size);
    uint32_t first = (uint32_t)(out->spans.size / sizeof(*spans));
    size_t kept = 0, from = 0, to;
    for (size_t row = stretch->first; row < stretch->end; row++, from = to) {
        /* with the blank after each row, which is before the next one */
        size_t byte = offsets[row + 1] - offsets[stretch->first] + (row + 1 - stretch->first);
        to = row + 1 == stretch->end ? count : words_before(state, byte);
        size_t words = to - from < state->max_tokens ? to - from : state->max_tokens;
        if (kept != from)
            memmove(spans + kept, spans + from, words * sizeof(*spans));
        kept += words;
        *ends++ = first + (uint32_t)kept;
    }
    out->spans.size += kept * sizeof(*spans);
    out->offsets.size += (stretch->end - stretch->first) * sizeof(*ends);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    struct column *out = &call->out[0];
    struct stretch stretch;
    weir_buf_reserve(&out->offsets, call->rows * sizeof(uint32_t));
    for (size_t row = 0; row < call->rows; row = stretch.end) {
        stretch = take_text(state, call, row);
        size_t bytes = stretch.blocks * BLOCK;
        size_t most = stretch.most < bytes ? stretch.most : bytes;
        weir_buf_reserve(&out->spans, (most + BLOCK + PUT) * sizeof(struct weir_span));
        weir_buf_reserve(&state->begins, stretch.blocks * sizeof(uint64_t));
        weir_buf_reserve(&state->before, stretch.blocks * sizeof(uint32_t));
        struct weir_span *spans = (struct weir_span *)(void *)(out->spans.at + out->spans.size);
        size_t count = find_words(state, out->values.at, &stretch, spans);
        end_rows(state, call, &stretch, count);
    }
}

const struct preprocess_operator preprocess_operator_tokenize_words = {
    .name = "tokenize_words",
    .summary = "text to words",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .in_place = true,
    .fini = fini,
};
