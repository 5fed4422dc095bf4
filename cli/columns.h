/* Columns that text takes in a terminal: two for characters of East Asian scripts and for pictures (East Asian Width W
 * and F of Unicode 15), none for marks that join the character before them. */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include <stddef.h>

/* Of a UTF-8 text; a byte that is none counts as a column. */
size_t cli_width_of(const char *text);

/* The beginning of a text that fits. */
struct cli_fit {
    size_t bytes, columns;
};
/* As many whole characters as take at most `columns`, with the marks that join the last one. */
struct cli_fit cli_fit_of(const char *text, size_t columns);

#endif
