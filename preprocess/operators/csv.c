/* Records of comma-separated values: see csv.h. */
#include "preprocess/operators/csv.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *const CSV_QUOTES[] = {"double", "none", NULL};
enum { CSV_QUOTES_NONE = 1 };

/* ---- which fields ---- */

/* The number of a field; -1: there is none of that name. */
static int64_t number_of(const struct cfg_texts *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (weir_str_equal(name, weir_yaml_text(weir_yaml_at(columns->node, i))))
            return (int64_t)i;
    }
    char *end = NULL;
    long number = strtol(name, &end, 10);
    return *name != '\0' && *end == '\0' && number >= 0 && number < CSV_FIELDS_MAX ? number : -1;
}

static enum weir_status find_fields(struct csv_reader *reader, const struct csv_options *options,
                                    const struct cfg_texts *names, struct weir_error *err)
{
    reader->wanted = weir_calloc(CSV_FIELDS_MAX, sizeof(int32_t));
    reader->next = weir_calloc(names->count + 1, sizeof(int32_t));
    memset(reader->wanted, -1, CSV_FIELDS_MAX * sizeof(int32_t));
    for (size_t i = 0; i < names->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(names->node, i);
        const char *name = weir_yaml_text(node) != NULL ? weir_yaml_text(node) : "";
        int64_t field = number_of(&options->columns, name);
        if (field < 0)
            return weir_yaml_fail(
                node, err, "found field '%s', expected one of `columns` or a number from 0 to %d",
                name, CSV_FIELDS_MAX - 1);
        reader->next[i] = reader->wanted[field];
        reader->wanted[field] = (int32_t)i;
        if ((size_t)field >= reader->fields)
            reader->fields = (size_t)field + 1;
    }
    return WEIR_OK;
}

enum weir_status csv_reader_open(struct csv_reader *reader, const struct csv_options *options,
                                 const struct cfg_texts *names, struct weir_error *err)
{
    bool is_tab = strcmp(options->delimiter, "\\t") == 0;
    if ((strlen(options->delimiter) != 1 && !is_tab) || strchr("\"\r\n", *options->delimiter))
        return weir_fail(err, WEIR_INVALID, "delimiter '%s', expected one character, no quote",
                         options->delimiter);
    if (names->count == 0 || names->count > CSV_FIELDS_MAX ||
        options->columns.count > CSV_FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "expected 1 to %d fields", CSV_FIELDS_MAX);
    reader->delimiter = is_tab ? '\t' : *options->delimiter;
    reader->is_unquoted = options->quotes == CSV_QUOTES_NONE;
    return find_fields(reader, options, names, err);
}

void csv_reader_fini(struct csv_reader *reader)
{
    free(reader->wanted);
    free(reader->next);
    weir_buf_fini(&reader->text);
}

/* ---- a record ---- */

static struct weir_bytes without_line_end(struct weir_bytes row)
{
    while (row.size > 0 && (row.at[row.size - 1] == '\n' || row.at[row.size - 1] == '\r'))
        row.size--;
    return row;
}

struct csv_walk csv_walk_begin(const struct operator_call *call, size_t row)
{
    struct weir_bytes record = without_line_end(column_row(call->in, row));
    return (struct csv_walk){.at = record.at, .end = record.at + record.size};
}

/* Takes a quoted field without its quotes, put together in reader->text. False when a quote is not
 * closed, or something stands behind it. */
static bool take_quoted(struct csv_reader *reader, struct csv_walk *walk)
{
    const uint8_t *at = walk->at + 1, *end = walk->end;
    weir_buf_clear(&reader->text);
    for (; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) {
        at += *at == '"'; /* "" stands for one */
        weir_buf_append(&reader->text, at, 1);
    }
    walk->at = at == end ? end : at + 1;
    walk->text = weir_buf_view(&reader->text);
    return at < end && (at + 1 == end || at[1] == (uint8_t)reader->delimiter);
}

static void take_plain(const struct csv_reader *reader, struct csv_walk *walk)
{
    size_t left = (size_t)(walk->end - walk->at);
    const uint8_t *stop = left > 0 ? memchr(walk->at, reader->delimiter, left) : NULL;
    walk->text = weir_bytes(walk->at, stop != NULL ? (size_t)(stop - walk->at) : left);
    walk->at += walk->text.size;
}

/* False: the row is marked. */
static bool take_field(struct csv_reader *reader, struct csv_walk *walk, struct operator_call *call,
                       size_t row)
{
    if (walk->at > walk->end) {
        operator_fail_row(call, row, "found %zu fields, expected at least %zu", walk->taken,
                          reader->fields);
        return false;
    }
    bool is_quoted = !reader->is_unquoted && walk->at < walk->end && *walk->at == '"';
    if (!is_quoted) {
        take_plain(reader, walk);
    } else if (!take_quoted(reader, walk)) {
        operator_fail_row(call, row, "field %zu: found a quote that does not end the field",
                          walk->taken);
        return false;
    }
    walk->at++; /* the delimiter; behind the end there is no further field */
    walk->field = walk->taken++;
    return true;
}

bool csv_walk_next(struct csv_reader *reader, struct csv_walk *walk, struct operator_call *call,
                   size_t row)
{
    while (walk->taken < reader->fields) {
        if (!take_field(reader, walk, call, row)) {
            walk->has_failed = true;
            return false;
        }
        if (reader->wanted[walk->field] >= 0)
            return true;
    }
    return false;
}
