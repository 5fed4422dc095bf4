/* Tables, lines and short values. */
#include "cli/page.h"

#include "cli/answer.h"
#include "cli/columns.h"
#include "core/base/error.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NAME_WIDTH = 16, DATE_TEXT = 10, MINUTE_TEXT = 16, SECOND_TEXT = 19, GROUP = 3 };

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

/* ---- values ---- */

void cli_put_count(struct weir_buf *out, int64_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64,
                          count < 0 ? (uint64_t)0 - (uint64_t)count : (uint64_t)count);
    weir_buf_append_text(out, count < 0 ? "-" : "");
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % GROUP == 0)
            weir_buf_append_text(out, ",");
        weir_buf_append(out, &digits[i], 1);
    }
}

void cli_put_bytes(struct weir_buf *out, double bytes)
{
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 999.95 && unit + 1 < WEIR_COUNT(UNITS)) {
        bytes /= 1000;
        unit++;
    }
    weir_buf_printf(out, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, UNITS[unit]);
}

/* The first `size` characters of it, without the time of day at midnight. */
static void put_time(struct weir_buf *out, const char *time, size_t size)
{
    bool whole = strlen(time) > size && time[DATE_TEXT] == 'T';
    if (!whole) {
        weir_buf_append_text(out, time[0] == '\0' ? "-" : time);
        return;
    }
    weir_buf_append(out, time, DATE_TEXT);
    if (strncmp(time + DATE_TEXT, "T00:00:00Z", DATE_TEXT) != 0)
        weir_buf_printf(out, " %.*s", (int)size - DATE_TEXT - 1, time + DATE_TEXT + 1);
}

void cli_put_time(struct weir_buf *out, const char *time)
{
    put_time(out, time, MINUTE_TEXT);
}

void cli_put_duration(struct weir_buf *out, double seconds)
{
    enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
    if (seconds < MINUTE)
        weir_buf_printf(out, "%.1f s", seconds);
    else if (seconds < HOUR)
        weir_buf_printf(out, "%.0f min", seconds / MINUTE);
    else if (seconds < DAY)
        weir_buf_printf(out, "%.1f h", seconds / HOUR);
    else
        weir_buf_printf(out, "%.1f d", seconds / DAY);
}

/* ---- lines ---- */

/* Returns the bytes at the text's beginning that a terminal would obey, and not show: control characters (C0, C1), and
 * those that turn the direction of what follows (U+202A to U+202E, U+2066 to U+2069). */
static size_t obeyed(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < ' ' || at[0] == 0x7f)
        return 1;
    if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
        return 2;
    bool turns = at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) ||
                                   (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
    return turns ? 3 : 0;
}

/* Puts blanks in the place of what a terminal obeys; a table breaks at a line feed. */
static void clean(char *text)
{
    while (*text != '\0') {
        size_t size = obeyed(text);
        memset(text, ' ', size);
        text += size == 0 ? 1 : size;
    }
}

size_t cli_put_cut(struct cli_page *page, const char *text, size_t columns)
{
    WEIR_AUTO_FREE char *cleaned = weir_strdup(text);
    clean(cleaned);
    struct cli_fit fit = cli_fit_of(cleaned, columns);
    if (cleaned[fit.bytes] == '\0') {
        weir_buf_append(page->out, cleaned, fit.bytes);
        return fit.columns;
    }
    fit = cli_fit_of(cleaned, columns - 1);
    weir_buf_append(page->out, cleaned, fit.bytes);
    weir_buf_append_text(page->out, page->blocks ? "…" : "~");
    return fit.columns + 1;
}

WEIR_PRINTF(1, 0) static char *clean_text(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return weir_strdup("");
    clean(text);
    return text;
}

void cli_line(struct cli_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    WEIR_AUTO_FREE char *text = clean_text(format, arguments);
    va_end(arguments);
    weir_buf_printf(page->out, "%s\n", text);
}

void cli_pair(struct cli_page *page, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    WEIR_AUTO_FREE char *text = clean_text(format, arguments);
    va_end(arguments);
    weir_buf_printf(page->out, "%s%-*s%s  %s\n", page->colour ? BOLD : "", NAME_WIDTH, name,
                    page->colour ? PLAIN : "", text);
}

void cli_pair_text(struct cli_page *page, const char *name, const char *text)
{
    if (text[0] != '\0')
        cli_pair(page, name, "%s", text);
}

void cli_pair_time(struct cli_page *page, const char *name, const char *time)
{
    WEIR_AUTO_BUF text = {0};
    if (time[0] != '\0') {
        put_time(&text, time, SECOND_TEXT);
        cli_pair(page, name, "%s", weir_buf_text(&text));
    }
}

/* ---- tables ---- */

static const json_t *member_of(const json_t *object, const char *path)
{
    size_t size = strcspn(path, ".");
    const json_t *member = json_object_getn(object, path, size);
    return path[size] == '.' ? member_of(member, path + size + 1) : member;
}

static bool is_absent(const json_t *member, enum cli_kind kind)
{
    if (kind == CLI_FLAG)
        return !json_is_true(member);
    return kind < CLI_NUMBER ? cli_text_of(member)[0] == '\0' : !json_is_number(member);
}

static void put_kind(struct weir_buf *out, const json_t *member, enum cli_kind kind)
{
    double real = json_number_value(member);

    switch (kind) {
    case CLI_TEXT:
        weir_buf_append_text(out, cli_text_of(member));
        break;
    case CLI_FLAG:
        weir_buf_append_text(out, json_is_true(member) ? "yes" : "");
        break;
    case CLI_TIME:
        cli_put_time(out, cli_text_of(member));
        break;
    case CLI_NUMBER:
        weir_buf_printf(out, "%" PRId64, cli_number_of(member));
        break;
    case CLI_COUNT:
        cli_put_count(out, cli_number_of(member));
        break;
    case CLI_BYTES:
        cli_put_bytes(out, real);
        break;
    case CLI_REAL:
        weir_buf_printf(out, "%g", real);
        break;
    case CLI_WHOLE:
    case CLI_TENTHS:
    case CLI_HUNDREDTHS:
        weir_buf_printf(out, "%.*f", (int)kind - CLI_WHOLE, real);
        break;
    }
}

/* Returns the cell's text, for the caller to free. */
static char *cell_of(const json_t *object, const struct cli_column *column)
{
    WEIR_AUTO_BUF text = {0};
    const json_t *member = column->key == NULL ? object : member_of(object, column->key);
    if (column->put != NULL)
        column->put(&text, member);
    else if (column->absent != NULL && is_absent(member, column->kind))
        weir_buf_append_text(&text, column->absent);
    else
        put_kind(&text, member, column->kind);
    char *cell = weir_strdup(weir_buf_text(&text));
    clean(cell);
    return cell;
}

static void show_row(const struct cli_column *columns, size_t count, const size_t *widths,
                     char *const *cells, struct weir_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = cells == NULL ? columns[i].title : cells[i];
        int blanks = (int)(widths[i] - cli_width_of(text));
        bool right = columns[i].kind >= CLI_NUMBER;
        weir_buf_printf(out, "%*s%s%*s", i > 0 ? GAP : 0, "", right ? "" : text, blanks, "");
        weir_buf_append_text(out, right ? text : "");
    }
    while (out->size > 0 && out->at[out->size - 1] == ' ')
        out->size--;
}

void cli_show_table(struct cli_page *page, const json_t *rows, const struct cli_column *columns,
                    size_t count)
{
    size_t widths[CLI_COLUMNS_MAX], row_count = json_array_size(rows);
    weir_require(count <= CLI_COLUMNS_MAX);
    if (row_count == 0)
        return;
    char **cells = weir_calloc(row_count * count, sizeof(*cells));
    for (size_t i = 0; i < count; i++) {
        widths[i] = cli_width_of(columns[i].title);
        for (size_t row = 0; row < row_count; row++) {
            char *cell = cell_of(json_array_get(rows, row), &columns[i]);
            size_t width = cli_width_of(cell);
            widths[i] = width > widths[i] ? width : widths[i];
            cells[row * count + i] = cell;
        }
    }
    weir_buf_append_text(page->out, page->colour ? BOLD : "");
    show_row(columns, count, widths, NULL, page->out);
    weir_buf_append_text(page->out, page->colour ? PLAIN "\n" : "\n");
    for (size_t row = 0; row < row_count; row++) {
        show_row(columns, count, widths, &cells[row * count], page->out);
        weir_buf_append_text(page->out, "\n");
    }
    for (size_t i = 0; i < row_count * count; i++)
        free(cells[i]);
    free(cells);
}
