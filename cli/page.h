/* Pages for people: aligned tables and lines of "name  value", written into a buffer first.
 * Values are made short: 12,345 · 1.2 MB · 2002-08-22 11:36. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "core/base/bytes.h"

#include <jansson.h>

#include <stdint.h>

struct cli_page {
    struct weir_buf *out;
    bool colour;  /* titles in bold */
    bool blocks;  /* pictures of block characters; else digits */
    size_t width; /* columns that a picture may take; 0: 80 */
};

/* ---- values, as text appended to a buffer ---- */

void cli_put_count(struct weir_buf *out, int64_t count); /* 12,345 */
void cli_put_bytes(struct weir_buf *out, double bytes);  /* 1.2 MB */
void cli_put_time(struct weir_buf *out,
                  const char *time); /* "2002-08-22T11:36:23Z" -> 2002-08-22 11:36 */
void cli_put_duration(struct weir_buf *out, double seconds);

/* ---- tables ---- */

enum { CLI_COLUMNS_MAX = 16 };

/* How a member of a row is shown. From CLI_NUMBER on, cells end in line. */
enum cli_kind {
    CLI_TEXT,
    CLI_FLAG,       /* yes */
    CLI_TIME,       /* 2002-08-22 11:36 */
    CLI_NUMBER,     /* 12345 */
    CLI_COUNT,      /* 12,345 */
    CLI_BYTES,      /* 1.2 MB */
    CLI_REAL,       /* 0.333333 */
    CLI_WHOLE,      /* 0 */
    CLI_TENTHS,     /* 0.3 */
    CLI_HUNDREDTHS, /* 0.33 */
};

struct cli_column {
    const char *title;
    enum cli_kind kind;
    const char *key;    /* "interval.from": the member of a member; NULL: the whole row */
    const char *absent; /* shown instead of no text, no number or a false flag, unless it is NULL */
    /* Writes a computed cell, or NULL; of the kind, only the side is then used. */
    void (*put)(struct weir_buf *out, const json_t *member);
};

/* Draws a row per object of the array. Line breaks and control characters become spaces: cells may
 * hold what files contain. Nothing at all when there is no row. */
void cli_show_table(struct cli_page *page, const json_t *rows, const struct cli_column *columns,
                    size_t count);

/* ---- lines ---- */

/* Writes a text cleaned like a cell, of which what fits into so many columns is kept; returns how many it takes. */
size_t cli_put_cut(struct cli_page *page, const char *text, size_t columns);

/* A line of its own, cleaned like a cell. */
void cli_line(struct cli_page *page, const char *format, ...) WEIR_PRINTF(2, 3);
/* "name            value" */
void cli_pair(struct cli_page *page, const char *name, const char *format, ...) WEIR_PRINTF(3, 4);
/* Nothing when there is no text. */
void cli_pair_text(struct cli_page *page, const char *name, const char *text);
/* To the second. */
void cli_pair_time(struct cli_page *page, const char *name, const char *time);

#endif
