/* truncate: rows that are too long lose their end, or their beginning: words, numbers of a ragged
 * tensor, or bytes of a text, which is cut between characters. */
#include "preprocess/operators/operator.h"

#include "core/base/utf8.h"

#include <string.h>

static const char *const KEEP[] = {"first", "last", NULL};
enum { KEEP_FIRST, KEEP_LAST };

struct options {
    const char *on;
    uint64_t length;
    int keep;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of words, ragged or text"),
    CFG_U64(struct options, length, .required = true, .min = 1, .max = UINT32_MAX,
            .doc = "words, numbers or bytes that are kept"),
    CFG_CHOICE(struct options, keep, .fallback = "first", .choices = KEEP,
               .doc = "end of the row that is kept"),
    CFG_END,
};

struct state {
    size_t length;
    int keep;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_TOKENS | 1u << COLUMN_RAGGED | 1u << COLUMN_TEXT,
        &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    *(struct state *)owner = (struct state){.length = options->length, .keep = options->keep};
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    if (ret_plan->output[0].kind == COLUMN_TOKENS)
        ret_plan->output[0].width = 0; /* there may be fewer */
    return WEIR_OK;
}

static bool is_inside_character(const struct column *text, size_t place)
{
    return (text->values.at[place] & 0xc0) == 0x80;
}

/* The part of a row that is kept, in the units of its offsets. */
struct kept {
    size_t first, end;
};

static struct kept keep(const struct state *state, const struct column *in, size_t row)
{
    const uint32_t *offsets = column_offsets(in);
    struct kept kept = {offsets[row], offsets[row + 1]};
    bool is_text = in->about.kind == COLUMN_TEXT;
    if (kept.end - kept.first <= state->length)
        return kept;
    if (state->keep == KEEP_FIRST) {
        struct weir_bytes text = {in->values.at + kept.first, kept.end - kept.first};
        kept.end = kept.first + (is_text ? weir_utf8_cut(text, state->length) : state->length);
    } else {
        kept.first = kept.end - state->length;
        while (is_text && kept.first < kept.end && is_inside_character(in, kept.first))
            kept.first++;
    }
    return kept;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct column *in = call->in;
    struct column *out = &call->out[0];
    bool is_words = in->about.kind == COLUMN_TOKENS;
    const struct weir_buf *from = is_words ? &in->spans : &in->values;
    struct weir_buf *to = is_words ? &out->spans : &out->values;
    size_t unit = is_words                          ? sizeof(struct weir_span)
                  : in->about.kind == COLUMN_RAGGED ? weir_dtype_bytes(in->about.type)
                                                    : 1;
    if (is_words) /* words are places in the text, which stays */
        weir_buf_append(&out->values, in->values.at, in->values.size);
    weir_buf_reserve(to, from->size);
    for (size_t i = 0; i < call->rows; i++) {
        struct kept kept = keep(owner, in, i);
        weir_buf_append(to, from->at + kept.first * unit, (kept.end - kept.first) * unit);
        preprocess_column_end_row(out);
    }
}

const struct preprocess_operator preprocess_operator_truncate = {
    .name = "truncate",
    .summary = "long rows cut to a length",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_SELECTS,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
