/* Format `csv`: RFC 4180 with or without a header line; fields are columns. A broken record is refused alone. */
#include "storage/formats/format.h"

#include "core/base/lines.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/config/csv.h"
#include "storage/formats/compressed.h"
#include "storage/formats/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_TOLD_MAX = 200 /* bytes of their names in a message */ };

/* The columns of a file. */
struct table {
    size_t columns;
    size_t header_size;
    uint64_t header_lines;
    int columns_of[FORMAT_ROLES]; /* -1: none */
    size_t label_count;           /* columns that together are the label, */
    int label_columns[WEIR_CSV_FIELDS_MAX];
    double label[WEIR_CSV_FIELDS_MAX];
    struct weir_buf scratch[FORMAT_ROLES];
    const struct cfg_table *options;
    bool has_subject; /* so that what is no header may be a person's */
};

static enum weir_status check(const void *options, const struct format_fields *fields,
                              struct weir_error *err)
{
    const struct cfg_table *csv = options;

    (void)fields;
    if (csv->header && csv->columns.count > 0)
        return weir_fail(err, WEIR_INVALID,
                         "source.columns: found names beside header: true, expected header: false "
                         "or no names: those of the header count");
    return cfg_csv_check(&csv->dialect, "source", err);
}

/* The column with this name in `columns`, or with a number for its name, from 1; -1: there is none. */
static int given_column(const struct weir_csv_record *first, const struct cfg_texts *columns,
                        const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    for (size_t i = 0; i < columns->count && i < first->count; i++) {
        if (weir_str_equal(weir_yaml_text(weir_yaml_at(columns->node, i)), name))
            return (int)i;
    }

    return *end == '\0' && number > 0 && number <= first->count ? (int)number - 1 : -1;
}

static bool has_any(struct weir_bytes text, const char *characters)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] != '\0' && strchr(characters, text.at[i]) != NULL)
            return true;
    }
    return false;
}

static bool is_but_for_blanks(struct weir_bytes field, const char *name)
{
    while (field.size > 0 && (field.at[0] == ' ' || field.at[0] == '\t'))
        field = weir_bytes(field.at + 1, field.size - 1);
    while (field.size > 0 && weir_line_is_blank(weir_bytes(field.at + field.size - 1, 1)))
        field.size--;
    return weir_bytes_equal(field, weir_bytes_of(name));
}

/* Appends the name of a column and a line feed: UTF-8 without control characters. */
static void put_name(struct weir_csv_field field, struct weir_buf *out)
{
    WEIR_AUTO_BUF scratch = {0};
    struct weir_bytes name = weir_csv_value(field, &scratch);
    WEIR_AUTO_FREE char *text = weir_strndup((const char *)name.at, name.size);
    WEIR_AUTO_FREE char *printable = storage_printable(text);

    weir_buf_append_text(out, printable);
    weir_buf_append_text(out, "\n");
}

/* Advice on the likeliest mistake in a header that does not have the column. */
static const char *advise(const struct weir_csv_record *header, const char *name)
{
    bool is_spaced = false, has_return = false;

    for (size_t i = 0; i < header->count; i++) {
        is_spaced = is_spaced || is_but_for_blanks(header->fields[i].raw, name);
        has_return = has_return || has_any(header->fields[i].raw, "\r");
    }
    if (has_return)
        return "expected it, and lines that end with a line feed, not with CR alone";
    if (is_spaced)
        return "only with blanks around it, expected it without";
    return header->count == 1 && has_any(header->fields[0].raw, ";\t|,")
               ? "expected it; source.delimiter says what stands between columns"
               : "expected it";
}

/* Writes " (ts, user, …)": the names that a header has. */
static void list_columns(const struct weir_csv_record *header, char list[COLUMNS_TOLD_MAX])
{
    WEIR_AUTO_BUF names = {0};

    for (size_t i = 0; i < header->count && names.size < COLUMNS_TOLD_MAX; i++) {
        put_name(header->fields[i], &names);
        names.at[names.size - 1] = ',';
        weir_buf_append_text(&names, " ");
    }
    size_t size = names.size < COLUMNS_TOLD_MAX
                      ? names.size - 2
                      : weir_utf8_cut(weir_buf_view(&names), COLUMNS_TOLD_MAX - 10);
    (void)snprintf(list, COLUMNS_TOLD_MAX, " (%.*s%s)", (int)size, (const char *)names.at,
                   names.size < COLUMNS_TOLD_MAX ? "" : "…");
}

static enum weir_status find_column(const struct weir_csv_record *header, const struct table *table,
                                    const char *name, int *ret_column, struct weir_error *err)
{
    const struct cfg_table *options = table->options;
    bool is_named = options->header;
    char list[COLUMNS_TOLD_MAX] = "";

    *ret_column =
        is_named ? weir_csv_find(header, name, 0) : given_column(header, &options->columns, name);
    if (*ret_column < 0 && is_named && !table->has_subject)
        list_columns(header, list);
    if (*ret_column < 0)
        return weir_fail(err, WEIR_INVALID, "line 1: found no column '%s' among %zu%s, %s", name,
                         header->count, list, is_named ? advise(header, name) : "expected it");
    if (is_named && weir_csv_find(header, name, (size_t)*ret_column + 1) >= 0)
        return weir_fail(err, WEIR_INVALID, "line 1: found two columns '%s', expected one", name);
    return WEIR_OK;
}

static enum weir_status find_columns(const struct weir_csv_record *header,
                                     const struct format_fields *fields, struct table *table,
                                     struct weir_error *err)
{
    const struct cfg_texts *names = &fields->label.names;
    enum weir_status status = WEIR_OK;

    table->has_subject = fields->subject.from != FORMAT_NOWHERE;
    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++) {
        table->columns_of[i] = -1;
        if (fields->each[i].from == FORMAT_NAMED)
            status = find_column(header, table, fields->each[i].name, &table->columns_of[i], err);
    }
    if (fields->label.from != FORMAT_COLUMNS)
        return status;
    if (names->count > WEIR_CSV_FIELDS_MAX)
        return weir_fail(err, WEIR_INVALID, "line 1: found %zu columns, expected the label's %zu",
                         header->count, names->count);
    for (size_t i = 0; status == WEIR_OK && i < names->count; i++)
        status = find_column(header, table, weir_yaml_text(weir_yaml_at(names->node, i)),
                             &table->label_columns[i], err);
    table->label_count = names->count;
    return status;
}

/* Bytes before the first line that holds something. */
static size_t pass_blank(struct weir_bytes head, uint64_t *ret_lines)
{
    size_t at = weir_text_mark(head), line;

    while ((line = weir_line(weir_bytes(head.at + at, head.size - at))) > 0 &&
           weir_line_is_blank(weir_chomp(weir_bytes(head.at + at, line)))) {
        at += line;
        (*ret_lines)++;
    }
    return at;
}

static enum weir_status read_header(const struct format_input *input,
                                    const struct cfg_table *options,
                                    const struct format_fields *fields,
                                    struct weir_csv_record *header, struct table *table,
                                    struct weir_error *err)
{
    struct weir_bytes head = input->head;
    bool is_whole = head.size == input->size;
    uint64_t blank_lines = 0;
    size_t mark = pass_blank(head, &blank_lines);

    table->columns = 0;
    if (storage_text_refuse("a table", head, err) != WEIR_OK)
        return err->status;
    head = weir_bytes(head.at + mark, head.size - mark);
    if (is_whole && weir_line_is_blank(head))
        return WEIR_OK;
    if (weir_csv_read(head, cfg_csv_dialect(&options->dialect), is_whole, header) !=
        WEIR_CSV_RECORD)
        return weir_fail(err, WEIR_INVALID, "line 1: found no header, expected column names");
    table->columns = header->count;
    table->header_size = mark + (options->header ? header->extent.size : 0);
    table->header_lines = blank_lines + (options->header ? header->extent.lines : 0);
    return find_columns(header, fields, table, err);
}

/* NA and the like stand for nothing, "NA" in quotes for itself. */
static bool is_missing(const struct weir_csv_record *record, int column,
                       const struct cfg_table *options)
{
    if (record->fields[column].is_quoted)
        return false;
    for (size_t i = 0; i < options->missing.count; i++) {
        const char *word = weir_yaml_text(weir_yaml_at(options->missing.node, i));

        if (weir_bytes_equal(record->fields[column].raw, weir_bytes_of(word)))
            return true;
    }
    return record->fields[column].raw.size == 0;
}

/* In place: a value that is returned is copied whole before its parts have left the processor's store queue, which
 * took half of the time. */
static void put_value(const struct weir_csv_record *record, int column,
                      const struct cfg_table *options, struct weir_buf *scratch,
                      struct format_value *value)
{
    value->kind = FORMAT_ABSENT;
    if (column < 0 || is_missing(record, column, options))
        return;
    value->kind = FORMAT_TEXT;
    value->text = weir_csv_value(record->fields[column], scratch);
}

/* A list out of several columns, or the first of them that holds no number. */
static struct format_value list_of(const struct weir_csv_record *record, struct table *table)
{
    for (size_t i = 0; i < table->label_count; i++) {
        struct format_value value;

        put_value(record, table->label_columns[i], table->options, &table->scratch[FORMAT_LABEL],
                  &value);
        if (value.kind == FORMAT_ABSENT || !storage_format_number_of(value.text, &table->label[i]))
            return value;
    }
    return (struct format_value){.kind = FORMAT_LIST,
                                 .list = {.at = table->label, .count = table->label_count}};
}

/* False when the record is refused as the end of the file: it waits for its rest. */
static bool emit(const struct format_input *input, const struct weir_csv_record *record,
                 struct table *table, const struct format_progress *progress,
                 const struct format_sink *sink)
{
    bool is_end = input->is_last && record->extent.size == record->extent.length &&
                  progress->consumed + record->extent.size == input->window.size;
    char reason[96];
    struct format_refusal refusal = {.offset = input->at + progress->consumed,
                                     .record = progress->record,
                                     .reason = reason,
                                     .is_tail = is_end};
    struct format_sample sample = {
        .offset = refusal.offset, .length = record->extent.length, .record = refusal.record};

    if (record->extent.complaint != NULL) {
        refusal.reason = record->extent.complaint;
        sink->refuse(sink->owner, &refusal);
        return !is_end;
    }
    if (record->count != table->columns) {
        snprintf(reason, sizeof(reason), "found %zu fields, expected %zu as in the header",
                 record->count, table->columns);
        sink->refuse(sink->owner, &refusal);
        return !is_end;
    }
    for (int i = 0; i < FORMAT_ROLES; i++)
        put_value(record, table->columns_of[i], table->options, &table->scratch[i],
                  &sample.each[i]);
    if (table->label_count > 0)
        sample.label = list_of(record, table);
    sink->sample(sink->owner, &sample);
    return true;
}

static void index_records(const struct format_input *input, struct weir_csv_record *record,
                          struct table *table, const struct format_sink *sink,
                          struct format_progress *progress)
{
    const struct weir_csv_dialect dialect = cfg_csv_dialect(&table->options->dialect);

    while (progress->consumed < input->window.size) {
        struct weir_bytes rest = weir_bytes(input->window.at + progress->consumed,
                                            input->window.size - progress->consumed);
        size_t line = weir_line(rest);
        enum weir_csv_outcome outcome;
        bool is_cut;

        if (line > 0 && weir_line_is_blank(weir_chomp(weir_bytes(rest.at, line)))) {
            progress->consumed += line;
            progress->record++;
            continue;
        }
        is_cut = input->is_full && !input->is_last && progress->consumed == 0;
        outcome = weir_csv_read(rest, dialect, input->is_last || is_cut, record);
        if (outcome == WEIR_CSV_MORE) /* the next window begins with it */
            break;
        progress->is_cut = is_cut && record->extent.size == rest.size && line == 0;
        if (is_cut && record->extent.size == rest.size)
            record->extent.complaint = "found a record beyond 16 MiB, expected less";
        if (!progress->is_cut && !emit(input, record, table, progress, sink))
            break;
        progress->consumed += record->extent.size;
        progress->record += record->extent.lines > 0 ? record->extent.lines : 1;
    }
}

static enum weir_status index_file(const struct format_input *input, const void *options,
                                   const struct format_fields *fields,
                                   const struct format_sink *sink,
                                   struct format_progress *ret_progress, struct weir_error *err)
{
    WEIR_AUTO_FREE struct weir_csv_record *record = weir_calloc(1, sizeof(*record));
    struct table table;
    struct format_progress progress = {.record = input->record};
    enum weir_status status;

    table.options = options;
    table.label_count = 0;
    memset(table.scratch, 0, sizeof(table.scratch));
    status = read_header(input, options, fields, record, &table, err);
    if (status != WEIR_OK)
        return status;
    if (table.columns == 0) { /* nothing yet: it is read from its beginning once it has grown */
        *ret_progress = progress;
        return WEIR_OK;
    }
    if (input->at == 0 && table.header_size <= input->window.size) {
        progress.consumed = table.header_size;
        progress.record += table.header_lines;
    }
    if (input->at > 0 || table.header_size <= input->window.size)
        index_records(input, record, &table, sink, &progress);
    for (size_t i = 0; i < WEIR_COUNT(table.scratch); i++)
        weir_buf_fini(&table.scratch[i]);
    *ret_progress = progress;
    return WEIR_OK;
}

/* ---- the columns of a file ---- */

static void put_columns(const struct cfg_table *options, const struct weir_csv_record *header,
                        struct weir_buf *out)
{
    for (size_t i = 0; i < header->count; i++) {
        const char *given = weir_yaml_text(weir_yaml_at(options->columns.node, i));

        if (options->header)
            put_name(header->fields[i], out);
        else
            put_name((struct weir_csv_field){.raw = weir_bytes_of(given != NULL ? given : "")},
                     out);
    }
}

/* A header without a line break may still be written. */
static enum weir_status columns_of(const struct format_input *input, const void *options,
                                   const struct format_fields *fields, struct weir_buf *out,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE struct weir_csv_record *header = weir_calloc(1, sizeof(*header));
    struct table table = {.options = options};
    const struct cfg_texts *given = &table.options->columns;
    enum weir_status status = read_header(input, options, fields, header, &table, err);

    if (status != WEIR_OK || table.columns == 0 || header->extent.size == header->extent.length)
        return status;
    if (given->count > 0 && given->count != table.columns)
        return weir_fail(err, WEIR_INVALID,
                         "line 1: found %zu fields, expected %zu as in source.columns",
                         table.columns, given->count);
    put_columns(options, header, out);
    return WEIR_OK;
}

static bool arrange(const void *options, struct weir_bytes record, const int *order, size_t count,
                    struct weir_buf *out)
{
    WEIR_AUTO_FREE struct weir_csv_record *found = weir_calloc(1, sizeof(*found));
    const struct weir_csv_dialect dialect =
        cfg_csv_dialect(&((const struct cfg_table *)options)->dialect);

    if (weir_csv_read(record, dialect, true, found) != WEIR_CSV_RECORD)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct weir_csv_field *field =
            order[i] >= 0 && (size_t)order[i] < found->count ? &found->fields[order[i]] : NULL;
        const char *quote = field != NULL && field->is_quoted ? "\"" : "";

        weir_buf_append(out, &dialect.delimiter, i > 0 ? 1 : 0);
        weir_buf_append_text(out, quote);
        if (field != NULL)
            weir_buf_append(out, field->raw.at, field->raw.size);
        weir_buf_append_text(out, quote);
    }
    return true;
}

/* ---- what a record holds ---- */

/* Columns by name; of one name, in their order. */
static int by_name(const void *a, const void *b, void *names)
{
    uint16_t one = *(const uint16_t *)a, other = *(const uint16_t *)b;
    struct weir_bytes x = ((const struct weir_csv_field *)names)[one].raw;
    struct weir_bytes y = ((const struct weir_csv_field *)names)[other].raw;
    int order = memcmp(x.at, y.at, x.size < y.size ? x.size : y.size);

    if (order == 0)
        order = (x.size > y.size) - (x.size < y.size);
    return order != 0 ? order : (one > other) - (one < other);
}

/* Orders the columns of a record by their names, or as they come where there is no header. False when the record has
 * others than the header. */
static bool order_columns(struct weir_bytes head, const struct cfg_table *options, size_t count,
                          struct weir_csv_record *header, uint16_t *order)
{
    uint64_t lines = 0;
    size_t mark = pass_blank(head, &lines);

    for (size_t i = 0; i < count; i++)
        order[i] = (uint16_t)i;
    if (!options->header)
        return true;
    if (head.size == 0)
        return false;
    head = weir_bytes(head.at + mark, head.size - mark);
    if (weir_csv_read(head, cfg_csv_dialect(&options->dialect), true, header) != WEIR_CSV_RECORD ||
        header->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        header->fields[i].raw = storage_value_trim(header->fields[i].raw);
    qsort_r(order, count, sizeof(*order), by_name, header->fields);
    return true;
}

static bool canonical(struct weir_bytes head, const void *given, struct weir_bytes record,
                      struct weir_buf *out)
{
    WEIR_AUTO_FREE struct weir_csv_record *header = weir_calloc(2, sizeof(*header));
    struct weir_csv_record *values = header + 1;
    const struct cfg_table *options = given;
    uint16_t order[WEIR_CSV_FIELDS_MAX];
    WEIR_AUTO_BUF scratch = {0};

    if (weir_csv_read(record, cfg_csv_dialect(&options->dialect), true, values) !=
            WEIR_CSV_RECORD ||
        !order_columns(head, options, values->count, header, order))
        return false;
    for (size_t i = 0; i < values->count; i++) {
        struct weir_bytes value =
            storage_value_trim(weir_csv_value(values->fields[order[i]], &scratch));

        weir_buf_append_u64(out, value.size);
        weir_buf_append(out, value.at, value.size);
    }
    return true;
}

const struct format storage_format_csv = {
    .name = "csv",
    .summary = "comma-separated values (RFC 4180), with a header line or not; fields are columns",
    .options = CFG_TABLE_KEYS,
    .options_size = sizeof(struct cfg_table),
    .gives = FORMAT_NAMED | FORMAT_COLUMNS,
    .counts_lines = true,
    .ends_with_newline = true,
    .is_pushable = true,
    .scrub_byte = ' ',
    .check = check,
    .index = index_file,
    .columns = columns_of,
    .arrange = arrange,
    .canonical = canonical,
};
