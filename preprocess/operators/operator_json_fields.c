/* json_fields: one JSON object → dense f32 `features`. A field is a name, or names with dots for
 * objects inside objects; numbers and true or false are taken. */
#include "preprocess/operators/json.h"
#include "preprocess/operators/number.h"

#include "core/base/memory.h"

enum { VALUE_FIELDS_MAX = 4096 };

struct options {
    const char *on;
    struct cfg_texts fields;
    const char *fill;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the record, `payload`"),
    CFG_TEXTS(struct options, fields, .required = true,
              .doc = "numeric fields, in the order of the tensor; a.b is b inside a"),
    CFG_TEXT(struct options, fill,
             .doc =
                 "number for fields that are absent or null, or nan; without it they are failures"),
    CFG_TEXT(struct options, as, .fallback = "features", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    struct weir_json *json;
    const struct weir_yaml_node *names;
    size_t width;
    struct number_fill fill;
};

static const char *name_at(const struct weir_yaml_node *names, size_t index)
{
    return weir_yaml_text(weir_yaml_at(names, index));
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    size_t count = options->fields.count;
    if (count == 0 || count > VALUE_FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "%zu fields, expected 1 to %d", count,
                         VALUE_FIELDS_MAX);
    state->names = options->fields.node;
    state->width = count;
    const char **names = weir_arena_alloc(schema->arena, count * sizeof(*names));
    enum weir_status status = preprocess_number_fill_option(options->fill, &state->fill, err);
    if (status == WEIR_OK)
        status = preprocess_json_names(&options->fields, names, err);
    if (status != WEIR_OK)
        return status;
    state->json = weir_json_new(names, count);
    status = preprocess_operator_plan_output(ret_plan, options->as, COLUMN_DENSE, WEIR_F32,
                                             (uint32_t)count, err);
    ret_plan->output[0].elements = names;
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick_record(schema, options->on, &ret_plan->in, err);
}

static void fini(void *owner)
{
    weir_json_free(((struct state *)owner)->json);
}

/* Numbers as JSON writes them, true and false; null is as if it were absent. */
static bool read_value(const struct state *state, struct weir_bytes value, float *ret_value)
{
    *ret_value = state->fill.value;
    if (value.at == NULL || value.at[0] == 'n')
        return state->fill.is_given;
    return value.at[0] != '"' && preprocess_number_read_f32(value, ret_value);
}

/* Returns what the reason goes on with. */
static const char *remedy_for(struct weir_bytes raw)
{
    switch (raw.at == NULL ? 'n' : raw.at[0]) {
    case 'n':
        return ": fill takes it";
    case '"':
        return ": json_text takes it; a number stands in no quotes";
    case '{':
        return ": a.b is b inside a";
    case '[':
        return "";
    default:
        return " that f32 can hold";
    }
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    const struct state *state = owner;
    if (!preprocess_json_read_row(state->json, call, row))
        return;
    for (size_t i = 0; i < state->width; i++) {
        if (!read_value(state, weir_json_found(state->json, i), &to[i])) {
            struct weir_bytes raw = weir_json_found(state->json, i);
            preprocess_operator_fail_row(call, row, "field '%s': found %s, expected a number%s",
                                         name_at(state->names, i), weir_json_kind(raw),
                                         remedy_for(raw));
            return;
        }
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_numbers(owner, call, ((const struct state *)owner)->width, read_row);
}

const struct preprocess_operator preprocess_operator_json_fields = {
    .name = "json_fields",
    .summary = "numeric fields of a JSON object to a dense tensor",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
