/* Pictures made of characters: a line of blocks, and a grid of values. Pure: numbers in, text out, never wider than the
 * page. A page without blocks gets the same facts in digits. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli/page.h"

#include <stdbool.h>
#include <stddef.h>

/* Values in the order of time; NAN: not defined. */
struct cli_plot_line {
    const char *name;
    const double *values;
    size_t count;
    double limit;      /* NAN: none */
    const bool *marks; /* one per value, drawn as a triangle below it; NULL: none */
};

/* "name  ▁▂▅█  0.81 to 0.97, newest 0.93", and a second line where something is marked. Nothing without values. */
void cli_plot_line(struct cli_page *page, const struct cli_plot_line *line);

/* Names and values are borrowed. */
struct cli_plot_grid {
    const char *const *rows; /* names */
    size_t row_count;
    const char *const *columns; /* names */
    size_t column_count;
    const double *values; /* row by row; NAN: none */
    /* one per value, shown as a star where there is room for digits; NULL: none */
    const bool *marks;
};

/* A block and digits per value where they fit, else a block; where not even these fit, a column is the mean of
 * several. Nothing without rows or columns. */
void cli_plot_grid(struct cli_page *page, const struct cli_plot_grid *grid);

#endif
