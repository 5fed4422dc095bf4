/* json_fields: one JSON object → dense f32 `features`. A field is a name, or names with dots for
 * objects inside objects; numbers and true or false are taken. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 4096, DEPTH_MAX = 8 };

struct options {
    const char *on;
    struct cfg_texts fields;
    const char *fill;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes or text"),
    CFG_TEXTS(struct options, fields, .required = true,
              .doc = "numeric fields, in the order of the tensor; a.b is b inside a"),
    CFG_TEXT(struct options, fill,
             .doc =
                 "number for fields that are absent or null, or nan; without it they are failures"),
    CFG_TEXT(struct options, as, .fallback = "features", .doc = "name of the tensor"),
    CFG_END,
};

struct field {
    const char *step[DEPTH_MAX]; /* names from the outside in */
    size_t steps;
    char *text; /* what the steps point into */
};

struct state {
    struct field *fields;
    size_t width;
    bool fills;
    double fill;
};

static bool split(struct field *field, const char *name)
{
    field->text = weir_strdup(name);
    for (char *at = field->text; at != NULL;) {
        if (field->steps == DEPTH_MAX)
            return false;
        field->step[field->steps++] = at;
        at = strchr(at, '.');
        if (at != NULL)
            *at++ = '\0';
    }
    return true;
}

static bool read_fill(struct state *state, const char *text)
{
    state->fills = text != NULL;
    return text == NULL || number_read_fill(text, &state->fill);
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    size_t count = options->fields.count;
    if (count == 0 || count > FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "json_fields: %zu fields, expected 1 to %d", count,
                         FIELDS_MAX);
    if (!read_fill(state, options->fill))
        return weir_fail(err, WEIR_INVALID, "json_fields: fill '%s', expected a number or nan",
                         options->fill);
    state->fields = weir_calloc(count, sizeof(*state->fields));
    state->width = count;
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(options->fields.node, i);
        const char *name = weir_yaml_text(node);
        if (name == NULL || !split(&state->fields[i], name))
            return weir_yaml_fail(node, err, "json_fields: expected a name of at most %d parts",
                                  DEPTH_MAX);
    }
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about(options->as, COLUMN_DENSE, WEIR_F32, (uint32_t)count);
    return operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT,
                                &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    for (size_t i = 0; i < state->width; i++)
        free(state->fields[i].text);
    free(state->fields);
}

/* NULL when it is absent or null. */
static const json_t *find(const json_t *object, const struct field *field)
{
    for (size_t i = 0; i < field->steps && object != NULL; i++)
        object = json_object_get(object, field->step[i]);
    return object == NULL || json_is_null(object) ? NULL : object;
}

static bool read_value(const struct state *state, const json_t *value, double *ret_value)
{
    if (value == NULL)
        *ret_value = state->fill;
    else if (json_is_number(value))
        *ret_value = json_number_value(value);
    else if (json_is_boolean(value))
        *ret_value = json_is_true(value);
    else
        return false;
    return value != NULL || state->fills;
}

static void read_row(const struct state *state, struct operator_call *call, size_t row, float *to)
{
    struct weir_bytes text = column_row(call->in, row);
    json_error_t error;
    json_t *object = json_loadb((const char *)text.at, text.size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object))
        operator_fail_row(call, row, "byte %d: expected one JSON object",
                          object == NULL ? error.position : 0);
    for (size_t i = 0; i < state->width && json_is_object(object); i++) {
        double value;
        if (!read_value(state, find(object, &state->fields[i]), &value)) {
            operator_fail_row(call, row, "field '%s': expected a number",
                              state->fields[i].step[state->fields[i].steps - 1]);
            break;
        }
        to[i] = (float)value;
    }
    json_decref(object);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    struct weir_buf *values = &call->out[0].values;
    size_t row_bytes = state->width * sizeof(float);
    weir_buf_reserve(values, call->rows * row_bytes);
    memset(values->at, 0, call->rows * row_bytes);
    values->size = call->rows * row_bytes;
    for (size_t i = 0; i < call->rows; i++) {
        if (call->failed[i] == OPERATOR_ROW_OK)
            read_row(state, call, i, (float *)(void *)(values->at + i * row_bytes));
    }
}

const struct preprocess_operator operator_json_fields = {
    .name = "json_fields",
    .summary = "numeric fields of a JSON object to a dense tensor",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
