/* normalize_text: bytes → clean lower-case text. Never fails: what is not UTF-8 becomes U+FFFD,
 * control characters and runs of blanks become one space. Lower case for ASCII and the Latin-1
 * supplement; other scripts stay as they are. */
#include "preprocess/operators/operator.h"

#include "core/base/utf8.h"

struct options {
    const char *on;
    bool lower;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes or text"),
    CFG_BOOL(struct options, lower, .fallback = "true", .doc = "lower case"),
    CFG_TEXT(struct options, as, .fallback = "text", .doc = "name of the column"),
    CFG_END,
};

struct state {
    bool lower;
    uint8_t ascii[256]; /* what stands for each byte; 0: a blank, or no ASCII */
};

static uint32_t lower_of(uint32_t code)
{
    bool is_ascii = code >= 'A' && code <= 'Z';
    bool is_latin = code >= 0xc0 && code <= 0xde && code != 0xd7; /* but the multiplication sign */
    return is_ascii || is_latin ? code + 0x20 : code;
}

static bool is_blank(uint32_t code)
{
    return code <= ' ' || (code >= 0x7f && code <= 0xa0);
}

static enum weir_status plan(void *owner, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *chosen = options;
    state->lower = chosen->lower;
    for (uint32_t code = 0; code < 0x80; code++)
        state->ascii[code] = is_blank(code) ? 0 : (uint8_t)(state->lower ? lower_of(code) : code);
    enum weir_status status =
        preprocess_operator_plan_output(ret_plan, chosen->as, COLUMN_TEXT, 0, 0, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick(
        schema, chosen->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT, &ret_plan->in, err);
}

/* Writes the code point at the front of `rest`; 0: it is blank. */
static size_t write_wide(const struct state *state, struct weir_bytes rest, uint8_t *to,
                         size_t *ret_taken)
{
    uint32_t code = weir_utf8_decode(rest, ret_taken);
    if (is_blank(code))
        return 0;
    return weir_utf8_encode(state->lower ? lower_of(code) : code, to);
}

/* Writes one row and returns its size; `at` has room for three bytes per byte of it, and more for
 * one code point. */
static size_t normalize_row(const struct state *state, struct weir_bytes row, uint8_t *at)
{
    uint8_t *to = at;
    for (size_t i = 0, taken = 0; i < row.size; i += taken) {
        uint8_t byte;
        while (i < row.size && (byte = state->ascii[row.at[i]]) != 0) {
            *to++ = byte;
            i++;
        }
        if (i == row.size)
            break;
        size_t size = write_wide(state, weir_bytes(row.at + i, row.size - i), to, &taken);
        to += size;
        if (size == 0 && to > at && to[-1] != ' ')
            *to++ = ' ';
    }
    if (to > at && to[-1] == ' ')
        to--;
    return (size_t)(to - at);
}

static void apply(void *state, struct operator_call *call)
{
    struct column *out = &call->out[0];
    for (size_t i = 0; i < call->rows; i++) {
        struct weir_bytes row = column_row(call->in, i);
        weir_buf_reserve(&out->values, 3 * row.size + 8);
        out->values.size += normalize_row(state, row, out->values.at + out->values.size);
        preprocess_column_end_row(out);
    }
}

const struct preprocess_operator preprocess_operator_normalize_text = {
    .name = "normalize_text",
    .summary = "bytes to text: UTF-8 repaired, lower case, blanks collapsed",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .repairs = true,
};
