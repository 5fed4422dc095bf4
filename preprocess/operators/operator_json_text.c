/* json_text: one JSON object → the text under one field. A field is a name, or names with dots for
 * objects inside objects. */
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    const char *field;
    bool optional;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    *(struct state *)owner = (struct state){.field = options->field, .optional = options->optional};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("text", COLUMN_TEXT, 0, 0);
    return operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT,
                                &ret_plan->in, err);
}

/* What stands under "a.b"; NULL when it is absent. */
static const json_t *find(const json_t *object, const char *field)
{
    while (object != NULL) {
        size_t size = strcspn(field, ".");
        object = json_object_getn(object, field, size);
        if (field[size] == '\0')
            break;
        field += size + 1;
    }
    return object;
}

static void read_row(const struct state *state, struct operator_call *call, size_t row)
{
    struct weir_bytes bytes = column_row(call->in, row);
    json_error_t error;
    json_t *object = json_loadb((const char *)bytes.at, bytes.size, JSON_REJECT_DUPLICATES, &error);
    const json_t *text = find(object, state->field);
    if (!json_is_object(object))
        operator_fail_row(call, row, "byte %d: expected one JSON object",
                          object == NULL ? error.position : 0);
    else if (json_is_string(text))
        weir_buf_append(&call->out[0].values, json_string_value(text), json_string_length(text));
    else if (!state->optional || (text != NULL && !json_is_null(text)))
        operator_fail_row(call, row, "field '%s': expected a string", state->field);
    json_decref(object);
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
};
