/* Tables, lines and short values. */
#include "cli/page.h"

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
    int length = snprintf(digits, sizeof digits, "%" PRIu64,
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

/* A terminal obeys control characters; a table breaks at a line feed. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
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

void cli_table_fini(struct cli_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = 0;
}

static void add_cell(struct cli_table *table, char *text)
{
    table->cells = weir_realloc(table->cells, table->cell_count + 1, sizeof *table->cells);
    table->cells[table->cell_count++] = text;
}

void cli_cell(struct cli_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_cell(table, clean_text(format, arguments));
    va_end(arguments);
}

void cli_cell_count(struct cli_table *table, int64_t count)
{
    WEIR_AUTO_BUF text = {0};
    cli_put_count(&text, count);
    cli_cell(table, "%s", weir_buf_text(&text));
}

void cli_cell_bytes(struct cli_table *table, double bytes)
{
    WEIR_AUTO_BUF text = {0};
    cli_put_bytes(&text, bytes);
    cli_cell(table, "%s", weir_buf_text(&text));
}

void cli_cell_time(struct cli_table *table, const char *time)
{
    WEIR_AUTO_BUF text = {0};
    cli_put_time(&text, time);
    cli_cell(table, "%s", weir_buf_text(&text));
}

/* Characters, not bytes. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t widest(const struct cli_table *table, size_t column)
{
    size_t width = width_of(table->columns[column].title);
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        size_t cell = width_of(table->cells[i]);
        width = cell > width ? cell : width;
    }
    return width;
}

static void show_row(const struct cli_table *table, const size_t *widths, char *const *cells,
                     struct weir_buf *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const char *text = cells == NULL ? table->columns[i].title : cells[i];
        int blanks = (int)(widths[i] - width_of(text));
        bool right = table->columns[i].right;
        weir_buf_printf(out, "%*s%s%*s", i > 0 ? GAP : 0, "", right ? "" : text, blanks, "");
        weir_buf_append_text(out, right ? text : "");
    }
    while (out->size > 0 && out->at[out->size - 1] == ' ')
        out->size--;
}

void cli_table_show(const struct cli_table *table, struct cli_page *page)
{
    size_t widths[CLI_COLUMNS_MAX];
    weir_require(table->column_count <= CLI_COLUMNS_MAX);
    if (table->cell_count == 0)
        return;
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = widest(table, i);
    weir_buf_append_text(page->out, page->colour ? BOLD : "");
    show_row(table, widths, NULL, page->out);
    weir_buf_append_text(page->out, page->colour ? PLAIN "\n" : "\n");
    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        show_row(table, widths, &table->cells[i], page->out);
        weir_buf_append_text(page->out, "\n");
    }
}
