/* Pages for people: aligned tables and lines of "name  value", written into a buffer first.
 * Values are made short: 12,345 · 1.2 MB · 2002-08-22 11:36. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "core/base/bytes.h"

#include <stdint.h>

struct cli_page {
    struct weir_buf *out;
    bool colour; /* titles in bold */
};

/* ---- values, as text appended to a buffer ---- */

void cli_put_count(struct weir_buf *out, int64_t count); /* 12,345 */
void cli_put_bytes(struct weir_buf *out, double bytes);  /* 1.2 MB */
void cli_put_time(struct weir_buf *out,
                  const char *time); /* "2002-08-22T11:36:23Z" -> 2002-08-22 11:36 */
void cli_put_duration(struct weir_buf *out, double seconds);

/* ---- tables ---- */

enum { CLI_COLUMNS_MAX = 16 };

struct cli_column {
    const char *title;
    bool right; /* numbers end in line */
};

/* Cells are filled from left to right, row after row. */
struct cli_table {
    const struct cli_column *columns;
    size_t column_count;
    char **cells;
    size_t cell_count;
};

void cli_table_fini(struct cli_table *table);
static inline void cli_auto_table(struct cli_table *table)
{
    cli_table_fini(table);
}
#define CLI_AUTO_TABLE __attribute__((cleanup(cli_auto_table))) struct cli_table

/* Line breaks and control characters become spaces: cells may hold what files contain. */
void cli_cell(struct cli_table *table, const char *format, ...) WEIR_PRINTF(2, 3);
void cli_cell_count(struct cli_table *table, int64_t count);
void cli_cell_bytes(struct cli_table *table, double bytes);
void cli_cell_time(struct cli_table *table, const char *time);
/* Nothing at all when there is no row. */
void cli_table_show(const struct cli_table *table, struct cli_page *page);

/* A line of its own, cleaned like a cell. */
void cli_line(struct cli_page *page, const char *format, ...) WEIR_PRINTF(2, 3);
/* "name            value" */
void cli_pair(struct cli_page *page, const char *name, const char *format, ...) WEIR_PRINTF(3, 4);
/* Nothing when there is no text. */
void cli_pair_text(struct cli_page *page, const char *name, const char *text);
/* To the second. */
void cli_pair_time(struct cli_page *page, const char *name, const char *time);

#endif
