/* csv_fields: one record of comma-separated values (RFC 4180) → dense f32 `features`. The fields
 * are named, with the file's columns listed in order, or numbered from 0. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 4096 };

struct options {
    const char *on;
    struct cfg_texts fields;
    struct cfg_texts columns;
    const char *delimiter;
    const char *fill;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes or text"),
    CFG_TEXTS(struct options, fields, .required = true,
              .doc = "numeric fields, in the order of the tensor: names, or numbers from 0"),
    CFG_TEXTS(struct options, columns, .doc = "names of all fields of a record, as in the header"),
    CFG_TEXT(struct options, delimiter, .fallback = ",",
             .doc = "one character between fields; \\t is a tab"),
    CFG_TEXT(struct options, fill,
             .doc = "number for empty fields, or nan; without it they are failures"),
    CFG_TEXT(struct options, as, .fallback = "features", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    char delimiter;
    bool fills;
    double fill;
    size_t width;
    size_t fields;        /* of a record, up to the last one wanted */
    int32_t *slots;       /* per field: first element of the tensor it goes to, -1: none */
    int32_t *next;        /* per element: another one for the same field, -1: none */
    struct weir_buf text; /* of a quoted field */
};

static const char *text_at(struct cfg_texts texts, size_t index)
{
    return weir_yaml_text(weir_yaml_at(texts.node, index));
}

/* The number of a field; -1 with an error. */
static int64_t field_number(const struct options *options, size_t index, struct weir_error *err)
{
    const char *name = text_at(options->fields, index);
    for (size_t i = 0; i < options->columns.count; i++) {
        if (weir_str_equal(name, text_at(options->columns, i)))
            return (int64_t)i;
    }
    char *end = NULL;
    long number = name != NULL ? strtol(name, &end, 10) : -1;
    if (name != NULL && *name != '\0' && *end == '\0' && number >= 0 && number < FIELDS_MAX)
        return number;
    weir_ignore(weir_yaml_fail(weir_yaml_at(options->fields.node, index), err,
                               "csv_fields: found field '%s', expected one of `columns` or a "
                               "number from 0 to %d",
                               name != NULL ? name : "", FIELDS_MAX - 1));
    return -1;
}

static enum weir_status plan_fields(struct state *state, const struct options *options,
                                    struct weir_error *err)
{
    state->width = options->fields.count;
    state->slots = weir_calloc(FIELDS_MAX, sizeof(int32_t));
    state->next = weir_calloc(state->width + 1, sizeof(int32_t));
    memset(state->slots, -1, FIELDS_MAX * sizeof(int32_t));
    for (size_t i = 0; i < state->width; i++) {
        int64_t field = field_number(options, i, err);
        if (field < 0)
            return WEIR_INVALID;
        state->next[i] = state->slots[field];
        state->slots[field] = (int32_t)i;
        if ((size_t)field >= state->fields)
            state->fields = (size_t)field + 1;
    }
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    bool is_tab = strcmp(options->delimiter, "\\t") == 0;
    if ((strlen(options->delimiter) != 1 && !is_tab) || strchr("\"\r\n", *options->delimiter))
        return weir_fail(err, WEIR_INVALID,
                         "csv_fields: delimiter '%s', expected one character, no quote",
                         options->delimiter);
    state->delimiter = is_tab ? '\t' : *options->delimiter;
    state->fills = options->fill != NULL;
    if (state->fills && !number_read_fill(options->fill, &state->fill))
        return weir_fail(err, WEIR_INVALID, "csv_fields: fill '%s', expected a number or nan",
                         options->fill);
    if (options->fields.count == 0 || options->fields.count > FIELDS_MAX ||
        options->columns.count > FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "csv_fields: expected 1 to %d fields", FIELDS_MAX);
    enum weir_status status = plan_fields(state, options, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about(options->as, COLUMN_DENSE, WEIR_F32, (uint32_t)state->width);
    return operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT,
                                &ret_plan->in, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    free(state->slots);
    free(state->next);
    weir_buf_fini(&state->text);
}

/* What is left of a record. */
struct rest {
    const uint8_t *at, *end;
    bool ended;  /* the last field was taken */
    bool broken; /* a quote is not closed, or something stands behind it */
};

/* Takes a quoted field without its quotes, put together in state->text. */
static struct weir_bytes take_quoted(struct state *state, struct rest *rest)
{
    const uint8_t *at = rest->at + 1, *end = rest->end;
    weir_buf_clear(&state->text);
    for (; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) {
        at += *at == '"'; /* "" stands for one */
        weir_buf_append(&state->text, at, 1);
    }
    rest->broken = at == end || (at + 1 < end && at[1] != (uint8_t)state->delimiter);
    rest->at = at == end ? end : at + 1;
    return weir_buf_view(&state->text);
}

/* Takes the next field. */
static struct weir_bytes take_field(struct state *state, struct rest *rest)
{
    struct weir_bytes field;
    if (rest->at < rest->end && *rest->at == '"') {
        field = take_quoted(state, rest);
    } else {
        size_t left = (size_t)(rest->end - rest->at);
        const uint8_t *stop = left > 0 ? memchr(rest->at, state->delimiter, left) : NULL;
        field = weir_bytes(rest->at, stop != NULL ? (size_t)(stop - rest->at) : left);
        rest->at += field.size;
    }
    rest->ended = rest->at == rest->end;
    rest->at += !rest->ended; /* the delimiter */
    return field;
}

static struct weir_bytes without_line_end(struct weir_bytes row)
{
    while (row.size > 0 && (row.at[row.size - 1] == '\n' || row.at[row.size - 1] == '\r'))
        row.size--;
    return row;
}

static bool read_value(const struct state *state, struct weir_bytes field, double *ret_value)
{
    *ret_value = state->fill;
    return (field.size == 0 && state->fills) || number_read(field, ret_value);
}

/* Reasons never quote the record: it may be about a person. */
static void read_row(struct state *state, struct operator_call *call, size_t row, float *to)
{
    struct weir_bytes record = without_line_end(column_row(call->in, row));
    struct rest rest = {.at = record.at, .end = record.at + record.size};
    for (size_t i = 0; i < state->fields; i++) {
        if (rest.ended) {
            operator_fail_row(call, row, "found %zu fields, expected at least %zu", i,
                              state->fields);
            return;
        }
        double value;
        struct weir_bytes field = take_field(state, &rest);
        if (rest.broken) {
            operator_fail_row(call, row, "field %zu: found a quote that does not end the field", i);
            return;
        }
        if (state->slots[i] >= 0 && !read_value(state, field, &value)) {
            operator_fail_row(call, row, "field %zu: found %zu bytes, expected a number", i,
                              field.size);
            return;
        }
        for (int32_t slot = state->slots[i]; slot >= 0; slot = state->next[slot])
            to[slot] = (float)value;
    }
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
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

const struct preprocess_operator operator_csv_fields = {
    .name = "csv_fields",
    .summary = "numeric fields of a csv record to a dense tensor",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
