/* json_words: one JSON object → words `NAME=VALUE`, one for each field that holds something: a text, a number as it is
 * written, true or false. A list gives a word for each of its values. What csv_words is for CSV. */
#include "preprocess/operators/json.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_FIELDS_MAX = 4096 };

struct options {
    const char *on;
    struct cfg_texts fields;
    bool keep_empty;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the record, `payload`"),
    CFG_TEXTS(struct options, fields, .required = true,
              .doc =
                  "fields that become words; a.b is b inside a, and a list is a word for each of "
                  "its texts and numbers"),
    CFG_BOOL(struct options, keep_empty, .fallback = "false",
             .doc = "a field that is absent or null is the word NAME=, so that each record has as "
                    "many words; lists are failures then"),
    CFG_TEXT(struct options, as, .fallback = "words", .doc = "name of the column"),
    CFG_END,
};

struct state {
    struct weir_json *json;
    const char **names;
    size_t count;
    bool keeps_empty;
    struct weir_buf text; /* without its escapes */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;

    state->keeps_empty = options->keep_empty;
    state->count = options->fields.count;
    if (state->count == 0 || state->count > WORD_FIELDS_MAX)
        return weir_yaml_fail(options->fields.node, err, "expected 1 to %d fields",
                              WORD_FIELDS_MAX);
    state->names = weir_calloc(state->count, sizeof(*state->names));
    enum weir_status status = preprocess_json_names(&options->fields, state->names, err);
    if (status != WEIR_OK)
        return status;
    state->json = weir_json_new(state->names, state->count);
    status = preprocess_operator_plan_output(ret_plan, options->as, COLUMN_TOKENS, 0,
                                             options->keep_empty ? (uint32_t)state->count : 0, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick_record(schema, options->on, &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;

    weir_json_free(state->json);
    free((void *)state->names);
    weir_buf_fini(&state->text);
}

static void add_word(struct state *state, size_t field, struct weir_bytes raw, struct column *out)
{
    struct weir_span span = {.start = (uint32_t)out->values.size};

    if (raw.size >= 2 && raw.at[0] == '"')
        raw = weir_json_unescape(weir_bytes(raw.at + 1, raw.size - 2), &state->text);
    weir_buf_append_text(&out->values, state->names[field]);
    weir_buf_append_text(&out->values, "=");
    weir_buf_append(&out->values, raw.at, raw.size);
    span.size = (uint32_t)out->values.size - span.start;
    weir_buf_append(&out->spans, &span, sizeof(span));
}

/* Returns the size of the text, number or word that JSON, which was checked, begins with. */
static size_t scalar(struct weir_bytes json)
{
    size_t size = 1;

    if (json.at[0] != '"') {
        while (size < json.size && strchr(",] \t\r\n", json.at[size]) == NULL)
            size++;
        return size;
    }
    while (json.at[size] != '"')
        size += json.at[size] == '\\' ? 2 : 1;
    return size + 1;
}

/* False for a list that holds objects or lists. */
static bool add_list(struct state *state, size_t field, struct weir_bytes list, struct column *out)
{
    for (size_t at = 1; at + 1 < list.size;) {
        struct weir_bytes rest = weir_bytes(list.at + at, list.size - at);

        if (strchr(", \t\r\n", rest.at[0]) != NULL) {
            at++;
            continue;
        }
        if (rest.at[0] == '[' || rest.at[0] == '{')
            return false;
        rest.size = scalar(rest);
        if (rest.at[0] != 'n')
            add_word(state, field, rest, out);
        at += rest.size;
    }
    return true;
}

/* False: there is something that makes no word. */
static bool add_field(struct state *state, size_t field, struct column *out)
{
    struct weir_bytes raw = weir_json_found(state->json, field);

    if (raw.at == NULL || raw.at[0] == 'n') {
        if (state->keeps_empty)
            add_word(state, field, weir_bytes("", 0), out);
        return true;
    }
    if (raw.at[0] == '[')
        return !state->keeps_empty && add_list(state, field, raw, out);
    if (raw.at[0] != '{')
        add_word(state, field, raw, out);
    return raw.at[0] != '{';
}

/* A row that fails is left empty. */
static void read_row(void *owner, struct operator_call *call, size_t row)
{
    struct state *state = owner;
    struct column *out = &call->out[0];
    size_t values = out->values.size, spans = out->spans.size;

    if (!preprocess_json_read_row(state->json, call, row))
        return;
    for (size_t i = 0; i < state->count; i++) {
        if (add_field(state, i, out))
            continue;
        struct weir_bytes raw = weir_json_found(state->json, i);
        preprocess_operator_fail_row(
            call, row, "field '%s': found %s, expected a text, a number, true or false%s",
            state->names[i], weir_json_kind(raw),
            raw.at[0] == '{'     ? ": a.b is b inside a"
            : state->keeps_empty ? ", as keep_empty: true says"
                                 : ", or a list of such");
        out->values.size = values;
        out->spans.size = spans;
        return;
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_rows(owner, call, read_row);
}

const struct preprocess_operator preprocess_operator_json_words = {
    .name = "json_words",
    .summary = "fields of a JSON object to words, NAME=VALUE each",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
