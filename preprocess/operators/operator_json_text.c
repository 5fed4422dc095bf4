/* json_text: one JSON object → the text under one field. A field is a name, or names with dots for
 * objects inside objects. */
#include "preprocess/operators/operator.h"

#include "core/base/json.h"

struct options {
    const char *on;
    const char *field;
    bool optional;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes or text"),
    CFG_TEXT(struct options, field, .required = true,
             .doc = "where the text is; a.b is b inside a"),
    CFG_BOOL(struct options, optional, .fallback = "false",
             .doc = "an absent or null field is an empty text, not a failure"),
    CFG_END,
};

struct state {
    struct weir_json *json;
    const char *field;
    bool optional;
    struct weir_buf text; /* without its escapes */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    *(struct state *)owner = (struct state){.json = weir_json_new(&options->field, 1),
                                            .field = options->field,
                                            .optional = options->optional};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("text", COLUMN_TEXT, 0, 0);
    return operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT,
                                &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    weir_json_free(state->json);
    weir_buf_fini(&state->text);
}

static void read_row(struct state *state, struct operator_call *call, size_t row)
{
    size_t column;
    if (!weir_json_read(state->json, column_row(call->in, row))) {
        const char *complaint = weir_json_complaint(state->json, &column);
        operator_fail_row(call, row, "byte %zu: %s, expected one JSON object", column, complaint);
        return;
    }
    struct weir_bytes raw = weir_json_found(state->json, 0);
    bool is_absent = raw.at == NULL || raw.at[0] == 'n';
    if (!is_absent && raw.at[0] == '"') {
        struct weir_bytes text =
            weir_json_unescape(weir_bytes(raw.at + 1, raw.size - 2), &state->text);
        weir_buf_append(&call->out[0].values, text.at, text.size);
    } else if (!is_absent || !state->optional) {
        operator_fail_row(call, row, "field '%s': expected a string", state->field);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    for (size_t i = 0; i < call->rows; i++) {
        if (call->failed[i] == OPERATOR_ROW_OK)
            read_row(owner, call, i);
        column_end_row(&call->out[0]);
    }
}

const struct preprocess_operator operator_json_text = {
    .name = "json_text",
    .summary = "the text under one field of a JSON object",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
