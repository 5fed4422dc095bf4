/* Records of comma-separated values: see csv.h. */
#include "preprocess/operators/csv.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const PREPROCESS_CSV_QUOTES[] = {"source", "double", "none", NULL};

enum { NAMES_TOLD_MAX = 160 /* bytes of names in a message */ };

/* ---- what the columns are called ---- */

static void keep_texts(const struct cfg_texts *texts, const char ***ret_texts, size_t *ret_count)
{
    *ret_texts = weir_calloc(texts->count + 1, sizeof(**ret_texts));
    *ret_count = texts->count;
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = weir_yaml_text(weir_yaml_at(texts->node, i));
        (*ret_texts)[i] = text != NULL ? text : "";
    }
}

static void borrow_texts(const char *const *texts, size_t count, const char ***ret_texts,
                         size_t *ret_count)
{
    *ret_texts = weir_calloc(count + 1, sizeof(**ret_texts));
    *ret_count = count;
    for (size_t i = 0; i < count; i++)
        (*ret_texts)[i] = texts[i];
}

static void print_names(const char *const *names, size_t count, struct weir_buf *out)
{
    for (size_t i = 0; i < count && out->size < NAMES_TOLD_MAX; i++)
        weir_buf_printf(out, "%s%.40s", i > 0 ? ", " : "", names[i]);
    weir_buf_append_text(out, out->size < NAMES_TOLD_MAX ? "" : ", …");
}

/* The columns that the operator declares are those of the dataset; a column without a name there may have any. */
static enum weir_status check_declared(const struct csv_reader *reader,
                                       const struct operator_records *records,
                                       struct weir_error *err)
{
    if (records == NULL || records->column_count == 0 || records->other != NULL)
        return WEIR_OK;
    bool are_same = reader->name_count == records->column_count;
    for (size_t i = 0; are_same && i < records->column_count; i++)
        are_same =
            records->columns[i][0] == '\0' || weir_str_equal(reader->names[i], records->columns[i]);
    if (are_same)
        return WEIR_OK;
    WEIR_AUTO_BUF declared = {0};
    WEIR_AUTO_BUF found = {0};
    print_names(reader->names, reader->name_count, &declared);
    print_names(records->columns, records->column_count, &found);
    return weir_fail(err, WEIR_INVALID,
                     "columns: declared are %zu (%s), but records of dataset '%s' have %zu (%s): "
                     "leave `columns` out, or name those",
                     reader->name_count, weir_buf_text(&declared), records->dataset,
                     records->column_count, weir_buf_text(&found));
}

static enum weir_status take_names(struct csv_reader *reader, const struct csv_options *options,
                                   const struct operator_records *records, struct weir_error *err)
{
    if (options->columns.count > 0) {
        keep_texts(&options->columns, &reader->names, &reader->name_count);
        return check_declared(reader, records, err);
    }
    if (records != NULL)
        borrow_texts(records->columns, records->column_count, &reader->names, &reader->name_count);
    return WEIR_OK;
}

/* ---- which fields ---- */

static int64_t named(const struct csv_reader *reader, const char *name, size_t from)
{
    for (size_t i = from; i < reader->name_count && *name != '\0'; i++) {
        if (weir_str_equal(name, reader->names[i]))
            return (int64_t)i;
    }
    return -1;
}

static int64_t numbered(const char *name)
{
    char *end = NULL;
    long number = strtol(name, &end, 10);
    return *name != '\0' && *end == '\0' && number >= 0 && number < WEIR_CSV_FIELDS_MAX ? number
                                                                                        : -1;
}

/* Tells all names that are unknown, as "field 'x'" or "fields 'x', 'y'". */
static void print_unknown(const struct csv_reader *reader, const struct cfg_texts *wanted,
                          struct weir_buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(wanted->node, i));
        name = name != NULL ? name : "";
        if (named(reader, name, 0) < 0 && numbered(name) < 0)
            weir_buf_printf(out, "%s'%s'", count++ > 0 ? ", " : "", name);
    }
    WEIR_AUTO_FREE char *names = weir_strdup(weir_buf_text(out));
    weir_buf_clear(out);
    weir_buf_printf(out, "field%s %s", count > 1 ? "s" : "", names);
}

/* Columns of a file without a header, which nobody has named. */
static bool has_names(const struct csv_reader *reader)
{
    for (size_t i = 0; i < reader->name_count; i++)
        if (reader->names[i][0] != '\0')
            return true;
    return reader->name_count == 0;
}

static enum weir_status fail_unknown(const struct csv_reader *reader,
                                     const struct cfg_texts *wanted,
                                     const struct operator_records *records, struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    WEIR_AUTO_BUF unknown = {0};
    print_names(reader->names, reader->name_count, &names);
    print_unknown(reader, wanted, &unknown);
    if (!has_names(reader))
        return weir_fail(
            err, WEIR_INVALID,
            "found %s, expected numbers from 0 to %zu: with header: false columns have "
            "the names that source.columns gives them",
            weir_buf_text(&unknown), reader->name_count - 1);
    if (reader->name_count > 0)
        return weir_fail(err, WEIR_INVALID, "found %s, expected one of %s, or a number from 0",
                         weir_buf_text(&unknown), weir_buf_text(&names));
    if (records == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "found %s, expected one of `columns` or a number from 0 to %d: no dataset "
                         "with format csv gives names; fields of JSON are read by json_fields and "
                         "json_text",
                         weir_buf_text(&unknown), WEIR_CSV_FIELDS_MAX - 1);
    return weir_fail(err, WEIR_INVALID,
                     "found %s, expected one of `columns` or a number from 0 to %d: the columns of "
                     "dataset '%s' are not known",
                     weir_buf_text(&unknown), WEIR_CSV_FIELDS_MAX - 1, records->dataset);
}

/* A name of a header means one field: no other, whatever a number says or another dataset has. */
static enum weir_status check_header(const struct csv_reader *reader, const char *name,
                                     int64_t field, const struct operator_records *records,
                                     struct weir_error *err)
{
    if (records->other != NULL)
        return weir_fail(err, WEIR_INVALID,
                         "field '%s': datasets '%s' and '%s' have different columns, expected the "
                         "same in the same order",
                         name, records->dataset, records->other);
    if (named(reader, name, (size_t)field + 1) >= 0)
        return weir_fail(err, WEIR_INVALID, "found two columns '%s', expected one, or its number",
                         name);
    if (numbered(name) >= 0 && numbered(name) != field)
        return weir_fail(err, WEIR_INVALID,
                         "field '%s' is the name of column %" PRId64 " and the number of another: "
                         "give `columns` names, or use numbers of columns without such names",
                         name, field);
    return WEIR_OK;
}

/* *ret_field is negative when there is none of this name. */
static enum weir_status find_field(const struct csv_reader *reader,
                                   const struct csv_options *options, const char *name,
                                   const struct operator_records *records, int64_t *ret_field,
                                   struct weir_error *err)
{
    int64_t field = named(reader, name, 0);
    bool is_of_header = field >= 0 && options->columns.count == 0;
    *ret_field = field >= 0 ? field : numbered(name);
    if (is_of_header)
        return check_header(reader, name, field, records, err);
    bool is_awaited = options->columns.count == 0 && records != NULL && records->are_awaited;
    if (*ret_field < 0 && is_awaited)
        *ret_field = 0;
    return WEIR_OK;
}

static enum weir_status find_fields(struct csv_reader *reader, const struct csv_options *options,
                                    const struct cfg_texts *names,
                                    const struct operator_records *records, struct weir_error *err)
{
    reader->wanted = weir_calloc(WEIR_CSV_FIELDS_MAX, sizeof(int32_t));
    reader->next = weir_calloc(names->count + 1, sizeof(int32_t));
    memset(reader->wanted, -1, WEIR_CSV_FIELDS_MAX * sizeof(int32_t));
    for (size_t i = 0; i < names->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(names->node, i));
        int64_t field;
        enum weir_status status =
            find_field(reader, options, name != NULL ? name : "", records, &field, err);
        if (status == WEIR_OK && field < 0)
            status = fail_unknown(reader, names, records, err);
        if (status != WEIR_OK)
            return status;
        reader->next[i] = reader->wanted[field];
        reader->wanted[field] = (int32_t)i;
        if ((size_t)field >= reader->fields)
            reader->fields = (size_t)field + 1;
    }
    return WEIR_OK;
}

/* ---- the rest of the options ---- */

static enum weir_status take_dialect(struct csv_reader *reader, const struct csv_options *options,
                                     const struct operator_records *records, struct weir_error *err)
{
    struct cfg_csv dialect =
        records != NULL ? records->dialect : (struct cfg_csv){.delimiter = ","};
    if (options->delimiter != NULL)
        dialect.delimiter = options->delimiter;
    if (options->quotes > 0)
        dialect.quotes = options->quotes - 1;
    enum weir_status status = cfg_csv_check(&dialect, "", err);
    if (status != WEIR_OK)
        return status;
    reader->dialect = cfg_csv_dialect(&dialect);
    reader->dialect.allows_stray_quotes = true; /* as Python reads them */
    return WEIR_OK;
}

static void take_missing(struct csv_reader *reader, const struct csv_options *options,
                         const struct operator_records *records)
{
    if (options->missing.node != NULL) {
        keep_texts(&options->missing, &reader->missing, &reader->missing_count);
        return;
    }
    reader->spares_quoted = true; /* as storage reads what the source declares */
    if (records != NULL)
        borrow_texts(records->missing, records->missing_count, &reader->missing,
                     &reader->missing_count);
}

enum weir_status preprocess_csv_reader_open(struct csv_reader *reader,
                                            const struct csv_options *options,
                                            const struct cfg_texts *fields,
                                            const struct operator_schema *schema,
                                            struct operator_plan *plan, struct weir_error *err)
{
    if (fields->count == 0 || fields->count > WEIR_CSV_FIELDS_MAX ||
        options->columns.count > WEIR_CSV_FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "expected 1 to %d fields", WEIR_CSV_FIELDS_MAX);
    enum weir_status status =
        preprocess_operator_schema_pick_record(schema, options->on, &plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct operator_records *records = plan->in == 0 ? schema->records : NULL;
    status = take_names(reader, options, records, err);
    if (status == WEIR_OK)
        status = take_dialect(reader, options, records, err);
    if (status != WEIR_OK)
        return status;
    take_missing(reader, options, records);
    return find_fields(reader, options, fields, records, err);
}

void preprocess_csv_reader_fini(struct csv_reader *reader)
{
    free(reader->wanted);
    free(reader->next);
    free((void *)reader->names);
    free((void *)reader->missing);
    weir_buf_fini(&reader->text);
}

const char *const *preprocess_csv_reader_elements(const struct csv_reader *reader,
                                                  const struct cfg_texts *fields,
                                                  struct weir_arena *arena)
{
    const char **elements = weir_arena_alloc(arena, fields->count * sizeof(*elements));
    for (size_t field = 0; field < reader->fields; field++) {
        bool is_named = field < reader->name_count && reader->names[field][0] != '\0';
        for (int32_t i = reader->wanted[field]; i >= 0; i = reader->next[i])
            elements[i] = is_named ? reader->names[field]
                                   : weir_yaml_text(weir_yaml_at(fields->node, (size_t)i));
    }
    return elements;
}

void preprocess_csv_reader_field(const struct csv_reader *reader, size_t field,
                                 char name[CSV_FIELD_NAME_MAX])
{
    if (field < reader->name_count && reader->names[field][0] != '\0')
        weir_utf8_print(name, CSV_FIELD_NAME_MAX, "column '%.*s'",
                        (int)weir_utf8_cut(weir_bytes_of(reader->names[field]), 50),
                        reader->names[field]);
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
            walk->is_quoted = field.is_quoted;
            return true;
        }
    }
    return false;
}

bool preprocess_csv_walk_is_missing(const struct csv_reader *reader, const struct csv_walk *walk)
{
    bool is_missing = walk->text.size == 0;
    if (walk->is_quoted && reader->spares_quoted)
        return is_missing;
    for (size_t i = 0; i < reader->missing_count && !is_missing; i++)
        is_missing = weir_bytes_equal(weir_bytes_of(reader->missing[i]), walk->text);
    return is_missing;
}
