/* lower_case: text in lower case, ASCII and the Latin-1 supplement; other scripts stay as they are. Every character
 * keeps its length in bytes, so that a `truncate` behind it can go first. */
#include "preprocess/operators/operator.h"

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of text"),
    CFG_END,
};

static enum weir_status plan(void *state, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)state;
    const struct options *options = given;
    enum weir_status status =
        preprocess_operator_schema_pick(schema, options->on, 1u << COLUMN_TEXT, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    return WEIR_OK;
}

/* Latin-1 capitals are 0xc3 and 0x80 to 0x9e, but for the multiplication sign 0x97; their small letters lie 0x20
 * behind, as in ASCII. */
static inline uint8_t lower_of(uint8_t before, uint8_t byte)
{
    bool is_ascii = byte >= 'A' && byte <= 'Z';
    bool is_latin = before == 0xc3 && byte >= 0x80 && byte <= 0x9e && byte != 0x97;
    return (uint8_t)(byte + ((is_ascii | is_latin) << 5));
}

WEIR_CLONES static void lower(struct weir_bytes text, uint8_t *restrict to)
{
    if (text.size > 0)
        to[0] = lower_of(0, text.at[0]);
    for (size_t i = 1; i < text.size; i++)
        to[i] = lower_of(text.at[i - 1], text.at[i]);
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    lower(weir_bytes(made.from, made.count), made.to);
}

const struct preprocess_operator preprocess_operator_lower_case = {
    .name = "lower_case",
    .summary = "text in lower case, character by character",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
