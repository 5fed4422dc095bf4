/* Records of comma-separated values: see csv.h. */
#include "preprocess/operators/csv.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return *name != '\0' && *end == '\0' && number >= 0 && number < WEIR_CSV_FIELDS_MAX ? number
                                                                                        : -1;
}

static enum weir_status find_fields(struct csv_reader *reader, const struct csv_options *options,
                                    const struct cfg_texts *names, struct weir_error *err)
{
    reader->wanted = weir_calloc(WEIR_CSV_FIELDS_MAX, sizeof(int32_t));
    reader->next = weir_calloc(names->count + 1, sizeof(int32_t));
    memset(reader->wanted, -1, WEIR_CSV_FIELDS_MAX * sizeof(int32_t));
    for (size_t i = 0; i < names->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(names->node, i);
        const char *name = weir_yaml_text(node) != NULL ? weir_yaml_text(node) : "";
        int64_t field = number_of(&options->columns, name);
        if (field < 0)
            return weir_yaml_fail(
                node, err, "found field '%s', expected one of `columns` or a number from 0 to %d",
                name, WEIR_CSV_FIELDS_MAX - 1);
        reader->next[i] = reader->wanted[field];
        reader->wanted[field] = (int32_t)i;
        if ((size_t)field >= reader->fields)
            reader->fields = (size_t)field + 1;
    }
    return WEIR_OK;
}

static void keep_names(struct csv_reader *reader, const struct cfg_texts *columns)
{
    reader->names = weir_calloc(columns->count + 1, sizeof(*reader->names));
    for (size_t i = 0; i < columns->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(columns->node, i));
        reader->names[reader->name_count++] = weir_strdup(name != NULL ? name : "");
    }
}

enum weir_status preprocess_csv_reader_open(struct csv_reader *reader,
                                            const struct csv_options *options,
                                            const struct cfg_texts *names, struct weir_error *err)
{
    enum weir_status status;

    if (names->count == 0 || names->count > WEIR_CSV_FIELDS_MAX ||
        options->columns.count > WEIR_CSV_FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "expected 1 to %d fields", WEIR_CSV_FIELDS_MAX);
    keep_names(reader, &options->columns);
    status = cfg_csv_check(&options->dialect, "", err);
    reader->dialect = cfg_csv_dialect(&options->dialect);
    reader->dialect.allows_stray_quotes = true; /* as Python reads them */
    return status == WEIR_OK ? find_fields(reader, options, names, err) : status;
}

void preprocess_csv_reader_fini(struct csv_reader *reader)
{
    free(reader->wanted);
    free(reader->next);
    for (size_t i = 0; i < reader->name_count; i++)
        free(reader->names[i]);
    free(reader->names);
    weir_buf_fini(&reader->text);
}

void preprocess_csv_reader_field(const struct csv_reader *reader, size_t field,
                                 char name[CSV_FIELD_NAME_MAX])
{
    if (field < reader->name_count)
        (void)snprintf(name, CSV_FIELD_NAME_MAX, "column '%.50s'", reader->names[field]);
    else
        (void)snprintf(name, CSV_FIELD_NAME_MAX, "field %zu", field);
}

/* ---- a record ---- */

static struct weir_bytes without_line_end(struct weir_bytes row)
{
    while (row.size > 0 && (row.at[row.size - 1] == '\n' || row.at[row.size - 1] == '\r'))
        row.size--;
    return row;
}

struct csv_walk preprocess_csv_walk_begin(const struct csv_reader *reader,
                                          const struct operator_call *call, size_t row)
{
    struct weir_bytes record = without_line_end(column_row(call->in, row));

    return (struct csv_walk){.csv = weir_csv_begin(record, reader->dialect, true)};
}

static bool fail(struct csv_walk *walk)
{
    walk->has_failed = true;
    return false;
}

bool preprocess_csv_walk_next(struct csv_reader *reader, struct csv_walk *walk,
                              struct operator_call *call, size_t row)
{
    while (walk->taken < reader->fields) {
        struct weir_csv_field field;
        enum weir_csv_outcome outcome;

        if (walk->is_done) {
            preprocess_operator_fail_row(call, row, "found %zu fields, expected at least %zu",
                                         walk->taken, reader->fields);
            return fail(walk);
        }
        outcome = weir_csv_next(&walk->csv, &field);
        if (outcome == WEIR_CSV_BROKEN) {
            char name[CSV_FIELD_NAME_MAX];
            preprocess_csv_reader_field(reader, walk->taken, name);
            preprocess_operator_fail_row(call, row, "%s: found a quote that does not end the field",
                                         name);
            return fail(walk);
        }
        walk->is_done = outcome == WEIR_CSV_RECORD;
        walk->field = walk->taken++;
        if (reader->wanted[walk->field] >= 0) {
            walk->text = weir_csv_value(field, &reader->text);
            return true;
        }
    }
    return false;
}
