/* json_text: one JSON object → the text under one field, or under several, put together. A field is
 * a name, or names with dots for objects inside objects. */
#include "preprocess/operators/json.h"

enum { TEXT_FIELDS_MAX = 64 };

struct options {
    const char *on;
    struct cfg_texts field;
    bool optional;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the record, `payload`"),
    CFG_TEXTS(struct options, field, .required = true,
              .doc = "field of the text; a.b is b inside a; several are joined by blanks"),
    CFG_BOOL(struct options, optional, .fallback = "false",
             .doc = "an absent or null field is an empty text, not a failure"),
    CFG_TEXT(struct options, as, .fallback = "text", .doc = "name of the column"),
    CFG_END,
};

struct state {
    struct weir_json *json;
    const char *fields[TEXT_FIELDS_MAX];
    size_t count;
    bool optional;
    struct weir_buf text; /* without its escapes */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->count = options->field.count;
    state->optional = options->optional;
    if (state->count == 0 || state->count > TEXT_FIELDS_MAX)
        return weir_yaml_fail(options->field.node, err, "expected 1 to %d fields", TEXT_FIELDS_MAX);
    enum weir_status status = preprocess_json_names(&options->field, state->fields, err);
    if (status != WEIR_OK)
        return status;
    state->json = weir_json_new(state->fields, state->count);
    status = preprocess_operator_plan_output(ret_plan, options->as, COLUMN_TEXT, 0, 0, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick_record(schema, options->on, &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    weir_json_free(state->json);
    weir_buf_fini(&state->text);
}

/* False: there is no text under the field, and it may not be absent. */
static bool add_text(struct state *state, size_t field, struct weir_buf *values, size_t begin)
{
    struct weir_bytes raw = weir_json_found(state->json, field);
    bool is_absent = raw.at == NULL || raw.at[0] == 'n';
    if (is_absent || raw.at[0] != '"')
        return is_absent && state->optional;
    if (values->size > begin)
        weir_buf_append_text(values, " ");
    struct weir_bytes text = weir_json_unescape(weir_bytes(raw.at + 1, raw.size - 2), &state->text);
    weir_buf_append(values, text.at, text.size);
    return true;
}

/* Returns what takes a value that is no text. */
static const char *remedy_for(struct weir_bytes raw)
{
    if (raw.at == NULL || raw.at[0] == 'n')
        return ": optional: true takes it";
    return raw.at[0] == '[' || raw.at[0] == '{' ? "" : ": json_fields takes it";
}

/* A row that fails is left empty. */
static void read_row(void *owner, struct operator_call *call, size_t row)
{
    struct state *state = owner;
    struct weir_buf *values = &call->out[0].values;
    size_t begin = values->size;
    if (!preprocess_json_read_row(state->json, call, row))
        return;
    for (size_t i = 0; i < state->count; i++) {
        if (!add_text(state, i, values, begin)) {
            struct weir_bytes raw = weir_json_found(state->json, i);
            preprocess_operator_fail_row(call, row, "field '%s': found %s, expected a string%s",
                                         state->fields[i], weir_json_kind(raw), remedy_for(raw));
            values->size = begin;
            return;
        }
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_rows(owner, call, read_row);
}

const struct preprocess_operator preprocess_operator_json_text = {
    .name = "json_text",
    .summary = "the text under a field of a JSON object, or under several",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
