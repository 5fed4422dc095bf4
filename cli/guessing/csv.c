/* Tables of CSV: delimiter, quotes, header and columns from the first lines, then every field. */
#include "cli/guessing/table.h"

#include "core/base/lines.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 50, NAME_MAX_BYTES = 80 };

void cli_guess_table_fini(struct cli_guess_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        cli_guess_column_fini(&table->columns[i]);
    free(table->columns);
    *table = (struct cli_guess_table){0};
}

static enum weir_csv_outcome take(struct weir_bytes *rest, struct weir_csv_dialect dialect,
                                  bool is_last, struct weir_csv_record *record)
{
    enum weir_csv_outcome outcome = weir_csv_read(*rest, dialect, is_last, record);

    if (outcome != WEIR_CSV_MORE)
        *rest = weir_bytes(rest->at + record->extent.size, rest->size - record->extent.size);
    return outcome;
}

static bool is_blank(const struct weir_csv_record *record)
{
    return record->count == 1 && record->fields[0].raw.size == 0;
}

/* Returns the number of columns that the first records agree on, or 0. */
static size_t width_under(struct weir_csv_dialect dialect, struct weir_bytes head,
                          struct weir_csv_record *record)
{
    size_t width = 0, agree = 0, differ = 0;

    while (head.size > 0 && agree + differ < LOOKED_AT) {
        enum weir_csv_outcome outcome = take(&head, dialect, false, record);

        if (outcome == WEIR_CSV_MORE)
            break;
        if (outcome == WEIR_CSV_RECORD && is_blank(record))
            continue;
        width = width == 0 && outcome == WEIR_CSV_RECORD ? record->count : width;
        agree += outcome == WEIR_CSV_RECORD && record->count == width ? 1 : 0;
        differ += outcome == WEIR_CSV_RECORD && record->count == width ? 0 : 1;
    }
    return differ * 10 <= agree && agree > 0 ? width : 0;
}

/* Returns the number of records of the head that are none under a dialect. */
static size_t broken_under(struct weir_csv_dialect dialect, struct weir_bytes head, size_t width,
                           struct weir_csv_record *record)
{
    size_t broken = 0;

    while (head.size > 0) {
        enum weir_csv_outcome outcome = take(&head, dialect, false, record);

        if (outcome == WEIR_CSV_MORE)
            break;
        if (outcome != WEIR_CSV_RECORD || (record->count != width && !is_blank(record)))
            broken++;
    }
    return broken;
}

/* The delimiter that makes most columns; quotes are characters where fewer records break then. */
static size_t find_dialect(struct weir_bytes head, struct weir_csv_record *record,
                           struct weir_csv_dialect *ret_dialect)
{
    static const char DELIMITERS[] = ",;\t|";
    struct weir_csv_dialect best = WEIR_CSV_COMMAS, unquoted;
    size_t most = 0, broken;

    for (const char *delimiter = DELIMITERS; *delimiter != '\0'; delimiter++) {
        for (int quotes = 1; quotes >= 0; quotes--) {
            struct weir_csv_dialect dialect = {.delimiter = *delimiter, .is_unquoted = quotes == 0};
            size_t width = width_under(dialect, head, record);

            if (width > most) {
                most = width;
                best = dialect;
            }
        }
    }
    unquoted = (struct weir_csv_dialect){.delimiter = best.delimiter, .is_unquoted = true};
    broken = best.is_unquoted ? 0 : broken_under(best, head, most, record);
    *ret_dialect =
        broken > 0 && broken_under(unquoted, head, most, record) < broken ? unquoted : best;
    return most;
}

/* ---- header ---- */

/* True of what stands in records and in no header: nothing, a number, a time. */
static bool is_datum(struct weir_bytes value)
{
    struct cli_guess_column column;
    bool is_one;

    cli_guess_column_init(&column, weir_bytes("", 0));
    cli_guess_column_add(&column, value);
    is_one = column.values == 0 || column.numbers > 0 || value.size > NAME_MAX_BYTES ||
             cli_guess_column_form(&column) < CLI_GUESS_FORMS_MAX;
    cli_guess_column_fini(&column);
    return is_one;
}

/* Columns may have no name: pandas and R write their index so, others end lines with a delimiter, spreadsheets leave
 * columns empty. Of those between, most have one. */
static bool are_names(const struct weir_csv_record *record)
{
    size_t unnamed = 0;

    for (size_t i = 0; i < record->count; i++) {
        bool is_empty = record->fields[i].raw.size == 0;

        if (!is_empty && is_datum(record->fields[i].raw))
            return false;
        unnamed += is_empty && i > 0 && i + 1 < record->count;
    }
    return unnamed * 2 < record->count;
}

/* Names stand in a pipeline file, which is UTF-8. */
static enum weir_status check_encoding(const struct weir_csv_record *header, struct weir_error *err)
{
    for (size_t i = 0; i < header->count; i++) {
        struct weir_bytes name = header->fields[i].raw;

        size_t whole = weir_utf8_whole(name);
        if (whole < name.size)
            return weir_fail(err, WEIR_INVALID,
                             "line 1: found byte 0x%02x in the name of column %zu, expected "
                             "UTF-8: a file in Latin-1 is converted by iconv -f LATIN1 -t "
                             "UTF-8",
                             name.at[whole], i + 1);
    }
    return WEIR_OK;
}

/* Returns the first field that an earlier one equals, or NULL. */
static const struct weir_csv_field *find_twice(const struct weir_csv_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        for (size_t j = 0; j < i; j++)
            if (record->fields[i].raw.size > 0 &&
                weir_bytes_equal(record->fields[i].raw, record->fields[j].raw))
                return &record->fields[i];
    return NULL;
}

/* True when a field of the first record comes again in its column: it is no name then. */
static bool comes_again(struct weir_bytes head, struct weir_csv_dialect dialect,
                        const struct weir_csv_record *first, struct weir_csv_record *record)
{
    bool again = false;

    (void)take(&head, dialect, false, record);
    for (size_t line = 0; line < LOOKED_AT && !again && head.size > 0; line++) {
        if (take(&head, dialect, false, record) == WEIR_CSV_MORE)
            break;
        for (size_t i = 0; i < record->count && i < first->count; i++)
            again = again || (first->fields[i].raw.size > 0 &&
                              weir_bytes_equal(record->fields[i].raw, first->fields[i].raw));
    }
    return again;
}

static void name_columns(struct cli_guess_table *table, const struct weir_csv_record *first)
{
    WEIR_AUTO_BUF scratch = {0};

    table->count = first->count < CLI_GUESS_COLUMNS_MAX ? first->count : CLI_GUESS_COLUMNS_MAX;
    table->columns = weir_calloc(table->count, sizeof(*table->columns));
    for (size_t i = 0; i < table->count; i++) {
        WEIR_AUTO_FREE char *number = weir_format("c%zu", i + 1);

        weir_buf_clear(&scratch);
        cli_guess_column_init(&table->columns[i], table->has_header
                                                      ? weir_csv_value(first->fields[i], &scratch)
                                                      : weir_bytes_of(number));
        table->columns[i].takes_commas = table->dialect.delimiter != ',';
    }
}

/* Returns a remedy for what begins in a way that is known. */
static const char *otherwise(struct weir_bytes head)
{
    size_t line = weir_line(head);
    struct weir_bytes first = weir_bytes(head.at, line > 0 ? line : head.size);
    const uint8_t *colon = first.size > 0 ? memchr(first.at, ':', first.size) : NULL;
    const uint8_t *blank = first.size > 0 ? memchr(first.at, ' ', first.size) : NULL;

    if (first.size > 0 && first.at[0] == '#')
        return ": line 1 is a comment, which no table has; the header comes first";
    if (colon != NULL && blank != NULL && blank < colon && isdigit(colon[-1]) != 0)
        return ": line 1 has numbers with their places, as libsvm writes them; write a column for "
               "each place (sklearn.datasets.load_svmlight_file reads them)";
    return "";
}

enum weir_status cli_guess_csv_begin(struct cli_guess_table *table, struct weir_bytes head,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE struct weir_csv_record *first = weir_calloc(1, sizeof(*first));
    WEIR_AUTO_FREE struct weir_csv_record *record = weir_calloc(1, sizeof(*record));

    if (find_dialect(head, record, &table->dialect) < 2)
        return weir_fail(
            err, WEIR_INVALID,
            "expected lines of fields divided by a comma, semicolon, tab or |, in equal "
            "number%s",
            otherwise(head));
    (void)weir_csv_read(head, table->dialect, false, first);
    table->has_header = are_names(first) && !comes_again(head, table->dialect, first, record);
    const struct weir_csv_field *twice = table->has_header ? find_twice(first) : NULL;

    if (twice != NULL)
        return weir_fail(err, WEIR_INVALID,
                         "line 1: found two columns called '%.*s', expected a name of its own for "
                         "each: rename one",
                         (int)twice->raw.size, twice->raw.at);
    enum weir_status status = table->has_header ? check_encoding(first, err) : WEIR_OK;

    if (status == WEIR_OK)
        name_columns(table, first);
    return status;
}

/* ---- records ---- */

static bool has_columns(const struct cli_guess_table *table, const struct weir_csv_record *header)
{
    WEIR_AUTO_BUF scratch = {0};
    bool are_same = header->count >= table->count;

    for (size_t i = 0; are_same && i < table->count; i++) {
        weir_buf_clear(&scratch);
        are_same = weir_bytes_equal(weir_csv_value(header->fields[i], &scratch),
                                    weir_bytes_of(table->columns[i].name));
    }
    return are_same;
}

static void add_record(struct cli_guess_table *table, const struct weir_csv_record *record)
{
    WEIR_AUTO_BUF scratch = {0};

    for (size_t i = 0; i < table->count; i++) {
        weir_buf_clear(&scratch);
        cli_guess_column_add(&table->columns[i], weir_csv_value(record->fields[i], &scratch));
    }
    table->rows++;
    table->bytes += record->extent.size;
}

bool cli_guess_csv_read(struct cli_guess_table *table, struct weir_bytes piece, bool begins_file,
                        bool is_last)
{
    WEIR_AUTO_FREE struct weir_csv_record *record = weir_calloc(1, sizeof(*record));

    if (begins_file && table->has_header &&
        (take(&piece, table->dialect, is_last, record) != WEIR_CSV_RECORD ||
         !has_columns(table, record)))
        return false;
    while (piece.size > 0) {
        enum weir_csv_outcome outcome = take(&piece, table->dialect, is_last, record);

        if (outcome == WEIR_CSV_MORE)
            break;
        if (outcome == WEIR_CSV_RECORD && record->count >= table->count)
            add_record(table, record);
        else if (outcome != WEIR_CSV_RECORD || !is_blank(record))
            table->broken++;
    }
    return true;
}
