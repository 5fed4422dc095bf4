/* normalize_text: bytes → clean lower-case text. Never fails: what is not UTF-8 becomes U+FFFD,
 * control characters and runs of blanks become one space. Lower case for ASCII and the Latin-1
 * supplement; other scripts stay as they are. */
#include "preprocess/operators/operator.h"
#include "preprocess/operators/utf8.h"

struct options {
    const char *on;
    bool lower;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes or text"),
    CFG_BOOL(struct options, lower, .fallback = "true", .doc = "lower case"),
    CFG_END,
};

struct state {
    bool lower;
};

static enum weir_status plan(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *chosen = options;
    ((struct state *)state)->lower = chosen->lower;
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("text", COLUMN_TEXT, 0, 0);
    return operator_schema_pick(schema, chosen->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT,
                                &ret_plan->in, err);
}

static uint32_t lower_of(uint32_t code)
{
    bool is_ascii = code >= 'A' && code <= 'Z';
    bool is_latin =
        code >= 0xc0 && code <= 0xde && code != 0xd7; /* all but the multiplication sign */
    return is_ascii || is_latin ? code + 0x20 : code;
}

static bool is_blank(uint32_t code)
{
    return code <= ' ' || (code >= 0x7f && code <= 0xa0);
}

/* Appends one row; `at` has room for three bytes per byte of it (U+FFFD for each bad byte). */
static size_t normalize_row(struct weir_bytes row, bool lower, uint8_t *at)
{
    uint8_t *to = at;
    bool blank_due = false;
    for (size_t i = 0, size = 0; i < row.size; i += size) {
        uint32_t code = utf8_decode(weir_bytes(row.at + i, row.size - i), &size);
        if (is_blank(code)) {
            blank_due = to > at;
            continue;
        }
        if (blank_due)
            *to++ = ' ';
        blank_due = false;
        to += utf8_encode(lower ? lower_of(code) : code, to);
    }
    return (size_t)(to - at);
}

static void apply(void *state, struct operator_call *call)
{
    struct column *out = &call->out[0];
    for (size_t i = 0; i < call->rows; i++) {
        struct weir_bytes row = column_row(call->in, i);
        weir_buf_reserve(&out->values, 3 * row.size);
        out->values.size +=
            normalize_row(row, ((struct state *)state)->lower, out->values.at + out->values.size);
        column_end_row(out);
    }
}

const struct preprocess_operator operator_normalize_text = {
    .name = "normalize_text",
    .summary = "bytes to text: UTF-8 repaired, lower case, blanks collapsed",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
};
