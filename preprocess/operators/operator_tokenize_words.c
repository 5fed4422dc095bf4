/* tokenize_words: text → words. A word is a run of ASCII letters, digits, underscores and
 * characters beyond ASCII; with `marks`, each other visible character is a word of its own. The
 * words are spans of the text: nothing is copied per word. */
#include "preprocess/operators/operator.h"

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
    uint8_t kind[256]; /* of each byte */
};

enum { BLANK, MARK, WORD };

static uint8_t kind_of(unsigned byte, bool marks)
{
    bool is_word = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                   (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80;
    if (is_word)
        return WORD;
    return marks && byte > ' ' && byte != 0x7f ? MARK : BLANK;
}

static enum weir_status plan(void *owner, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *chosen = options;
    state->max_tokens = chosen->max_tokens;
    for (unsigned byte = 0; byte < sizeof(state->kind); byte++)
        state->kind[byte] = kind_of(byte, chosen->marks);
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("words", COLUMN_TOKENS, 0, 0);
    return operator_schema_pick(schema, chosen->on, 1u << COLUMN_TEXT | 1u << COLUMN_BYTES,
                                &ret_plan->in, err);
}

static void tokenize_row(struct weir_bytes row, const struct state *state, struct column *out)
{
    size_t base = out->values.size;
    uint64_t most = row.size < state->max_tokens ? row.size : state->max_tokens;
    weir_buf_append(&out->values, row.at, row.size);
    weir_buf_reserve(&out->spans, most * sizeof(struct column_span));
    struct column_span *first = (struct column_span *)(void *)(out->spans.at + out->spans.size);
    struct column_span *span = first;
    for (size_t i = 0; i < row.size && (uint64_t)(span - first) < most;) {
        size_t start = i++;
        uint8_t kind = state->kind[row.at[start]];
        if (kind == BLANK)
            continue;
        while (kind == WORD && i < row.size && state->kind[row.at[i]] == WORD)
            i++;
        *span++ = (struct column_span){(uint32_t)(base + start), (uint32_t)(i - start)};
    }
    out->spans.size += (size_t)(span - first) * sizeof(*span);
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
