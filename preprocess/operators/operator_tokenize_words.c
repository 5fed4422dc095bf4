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
    bool marks;
};

static enum weir_status plan(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *chosen = options;
    *(struct state *)state =
        (struct state){.max_tokens = chosen->max_tokens, .marks = chosen->marks};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("words", COLUMN_TOKENS, 0, 0);
    return operator_schema_pick(schema, chosen->on, 1u << COLUMN_TEXT | 1u << COLUMN_BYTES,
                                &ret_plan->in, err);
}

static bool is_word(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
           (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80;
}

static void tokenize_row(struct weir_bytes row, const struct state *state, struct column *out)
{
    size_t base = out->values.size;
    weir_buf_append(&out->values, row.at, row.size);
    uint64_t words = 0;
    for (size_t i = 0; i < row.size && words < state->max_tokens;) {
        size_t start = i++;
        if (is_word(row.at[start])) {
            while (i < row.size && is_word(row.at[i]))
                i++;
        } else if (!state->marks || row.at[start] <= ' ' || row.at[start] == 0x7f) {
            continue;
        }
        struct column_span span = {.start = (uint32_t)(base + start),
                                   .size = (uint32_t)(i - start)};
        weir_buf_append(&out->spans, &span, sizeof(span));
        words++;
    }
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
