/* Blocks of eight heights stand for values, and digits beside them where there is room: see plot.h. */
#include "cli/plot.h"

#include "cli/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    GAP = 2,
    NAME_WIDTH = 16,
    LEVELS = 8,
    FEW = 12,       /* blocks that a line has beside its facts, or the facts go below */
    DIGITS_MAX = 8, /* characters of a value in a cell, and the zero after them */
};

static const char *const BLOCKS[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/* ---- values ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct range {
    double low, high;
};

/* Of the defined ones; NAN where none is. */
static struct range range_of(const double *values, size_t count)
{
    struct range range = {(double)NAN, (double)NAN};
    for (size_t i = 0; i < count; i++) {
        range.low = fmin(range.low, values[i]);
        range.high = fmax(range.high, values[i]);
    }
    return range;
}

/* Halves are taken, for the whole range may be larger than any number. */
static double share_of(double value, struct range range)
{
    double size = range.high / 2 - range.low / 2;
    return size > 0 ? fmin(fmax((value / 2 - range.low / 2) / size, 0), 1) : 0.5;
}

static const char *block_of(double value, struct range range)
{
    if (isnan(value))
        return " ";
    return BLOCKS[(size_t)(share_of(value, range) * (LEVELS - 1) + 0.5)];
}

/* Values that share a column: those from `first` to before `end`. */
struct fold {
    size_t first, end;
};

static struct fold fold_of(size_t column, size_t columns, size_t count)
{
    return (struct fold){column * count / columns, (column + 1) * count / columns};
}

/* Of the defined ones; NAN where none is. Their sum may be larger than any number. */
static double mean_of(const double *values, struct fold fold)
{
    double mean = 0, defined = 0;
    for (size_t i = fold.first; i < fold.end; i++)
        defined += isnan(values[i]) ? 0 : 1;
    for (size_t i = fold.first; i < fold.end; i++)
        mean += isnan(values[i]) ? 0 : values[i] / defined;
    return defined == 0 ? (double)NAN : mean;
}

static bool is_marked(const bool *marks, struct fold fold)
{
    for (size_t i = fold.first; marks != NULL && i < fold.end; i++)
        if (marks[i])
            return true;
    return false;
}

/* ---- a line ---- */

static size_t width_of_page(const struct cli_page *page)
{
    enum { USUAL = 80, LEAST = 20, MOST = 200 };
    size_t width = page->width == 0 ? USUAL : smaller(page->width, MOST);
    return width < LEAST ? LEAST : width;
}

static void put_blanks(struct cli_page *page, size_t count)
{
    weir_buf_printf(page->out, "%*s", (int)count, "");
}

static void end_line(struct cli_page *page)
{
    while (page->out->size > 0 && page->out->at[page->out->size - 1] == ' ')
        page->out->size--;
    weir_buf_append_text(page->out, "\n");
}

/* Returns the columns that it took, a gap included. */
static size_t put_name(struct cli_page *page, const char *name, size_t columns)
{
    size_t taken = cli_put_cut(page, name, columns);
    put_blanks(page, columns - taken + GAP);
    return columns + GAP;
}

/* Of the values and of their limit, which is shown among them. */
static struct range shown_range(const struct cli_plot_line *line)
{
    struct range range = range_of(line->values, line->count);
    return (struct range){fmin(range.low, line->limit), fmax(range.high, line->limit)};
}

/* "0.81 to 0.97, newest 0.93, limit 0.9 (▆), 2 fired" */
static void put_facts(struct weir_buf *facts, const struct cli_plot_line *line, bool blocks)
{
    struct range range = range_of(line->values, line->count);
    size_t newest = line->count, fired = 0;
    while (newest > 0 && isnan(line->values[newest - 1]))
        newest--;
    for (size_t i = 0; line->marks != NULL && i < line->count; i++)
        fired += line->marks[i];
    if (newest == 0)
        weir_buf_append_text(facts, "no value");
    else if (range.low < range.high)
        weir_buf_printf(facts, "%.4g to %.4g, newest %.4g", range.low, range.high,
                        line->values[newest - 1]);
    else
        weir_buf_printf(facts, "%.4g", range.low);
    if (!isnan(line->limit))
        weir_buf_printf(facts, ", limit %.4g", line->limit);
    if (!isnan(line->limit) && blocks)
        weir_buf_printf(facts, " (%s)", block_of(line->limit, shown_range(line)));
    if (line->marks != NULL)
        weir_buf_printf(facts, ", %zu fired", fired);
}

static void put_blocks(struct cli_page *page, const struct cli_plot_line *line, size_t columns)
{
    struct range range = shown_range(line);
    for (size_t i = 0; i < columns; i++) {
        struct fold fold = fold_of(i, columns, line->count);
        weir_buf_append_text(page->out, block_of(mean_of(line->values, fold), range));
    }
}

/* A line of triangles below the blocks, where there is one. */
static void put_marks(struct cli_page *page, const struct cli_plot_line *line, size_t left,
                      size_t columns)
{
    if (!is_marked(line->marks, (struct fold){0, line->count}))
        return;
    put_blanks(page, left);
    for (size_t i = 0; i < columns; i++) {
        struct fold fold = fold_of(i, columns, line->count);
        weir_buf_append_text(page->out, is_marked(line->marks, fold) ? "▲" : " ");
    }
    end_line(page);
}

void cli_plot_line(struct cli_page *page, const struct cli_plot_line *line)
{
    WEIR_AUTO_BUF facts = {0};
    size_t width = width_of_page(page);
    if (line->count == 0)
        return;
    put_facts(&facts, line, page->blocks);
    size_t beside = cli_width_of(weir_buf_text(&facts)) + GAP;
    size_t left = put_name(page, line->name, smaller(NAME_WIDTH, width / 4)), room = width - left;
    bool is_below = page->blocks && beside + smaller(line->count, FEW) > room;
    size_t columns = smaller(line->count, is_below ? room : room - smaller(room, beside));
    if (page->blocks) {
        put_blocks(page, line, columns);
        put_blanks(page, GAP);
    }
    if (!is_below)
        cli_put_cut(page, weir_buf_text(&facts), room);
    end_line(page);
    if (page->blocks)
        put_marks(page, line, left, columns);
    if (is_below) {
        put_blanks(page, GAP);
        cli_put_cut(page, weir_buf_text(&facts), width - GAP);
        end_line(page);
    }
}

/* ---- a grid ---- */

/* Writes three digits of it, or more where it is large: ".812", "-1.50", "12345"; nothing for NAN. */
static void digits_of(double value, char digits[DIGITS_MAX])
{
    double size = fabs(value);
    int places = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    if (isnan(value))
        digits[0] = '\0';
    else if (size < 0.9995) /* without the zero before the point */
        (void)snprintf(digits, DIGITS_MAX, "%s.%03.0f", value < 0 ? "-" : "", size * 1000);
    else if (size < 99999.5)
        (void)snprintf(digits, DIGITS_MAX, "%.*f", places, value);
    else
        (void)snprintf(digits, DIGITS_MAX, "%.0e", value);
}

/* How a grid is laid out: a cell is a block, digits and a mark, or a block alone. */
struct layout {
    struct range range;
    size_t name, room; /* characters: of a name, and of all cells of a row */
    size_t digits;     /* characters; 0: blocks alone */
    size_t cell, columns;
};

static size_t longest_digits(const struct cli_plot_grid *grid)
{
    size_t longest = 1;
    for (size_t i = 0; i < grid->row_count * grid->column_count; i++) {
        char digits[DIGITS_MAX];
        digits_of(grid->values[i], digits);
        longest = strlen(digits) > longest ? strlen(digits) : longest;
    }
    return longest;
}

static struct layout layout_of(const struct cli_plot_grid *grid, const struct cli_page *page)
{
    size_t width = width_of_page(page), name = 1;
    for (size_t i = 0; i < grid->row_count; i++) {
        size_t one = cli_width_of(grid->rows[i]);
        name = one > name ? one : name;
    }
    name = smaller(name, width / 3);
    struct layout layout = {.name = name, .room = width - name - GAP};
    layout.range = range_of(grid->values, grid->row_count * grid->column_count);
    layout.digits = longest_digits(grid);
    layout.cell = page->blocks + layout.digits + 1;
    if (page->blocks && grid->column_count > layout.room / layout.cell) {
        layout.digits = 0;
        layout.cell = 1;
    }
    layout.columns = smaller(grid->column_count, layout.room / layout.cell);
    return layout;
}

/* The names of as many columns as have room, each at its column. */
static void put_titles(struct cli_page *page, const struct cli_plot_grid *grid,
                       const struct layout *layout)
{
    size_t end = 0;
    put_name(page, "", layout->name);
    for (size_t i = 0; i < layout->columns; i++) {
        const char *title = grid->columns[fold_of(i, layout->columns, grid->column_count).first];
        size_t at = i * layout->cell;
        if (i > 0 && (at < end + GAP || at + cli_width_of(title) > layout->room))
            continue;
        put_blanks(page, at - end);
        end = at + cli_put_cut(page, title, layout->room - at);
    }
    end_line(page);
}

static void put_cell(struct cli_page *page, double value, bool marked, const struct layout *layout)
{
    char digits[DIGITS_MAX];
    if (page->blocks)
        weir_buf_append_text(page->out, block_of(value, layout->range));
    if (layout->digits == 0)
        return;
    digits_of(value, digits);
    weir_buf_printf(page->out, "%*s%s", (int)layout->digits, digits, marked ? "*" : " ");
}

static void put_row(struct cli_page *page, const struct cli_plot_grid *grid, size_t row,
                    const struct layout *layout)
{
    size_t first = row * grid->column_count;
    const bool *marks = grid->marks == NULL ? NULL : grid->marks + first;
    put_name(page, grid->rows[row], layout->name);
    for (size_t i = 0; i < layout->columns; i++) {
        struct fold fold = fold_of(i, layout->columns, grid->column_count);
        put_cell(page, mean_of(grid->values + first, fold), is_marked(marks, fold), layout);
    }
    end_line(page);
}

/* The values of the lowest and the highest block where no digits stand beside them, and what a column holds. */
static void put_legend(struct cli_page *page, const struct cli_plot_grid *grid,
                       const struct layout *layout)
{
    WEIR_AUTO_BUF legend = {0};
    if (layout->digits == 0 && !isnan(layout->range.low))
        weir_buf_printf(&legend, "%s %.4g to %s %.4g", block_of(layout->range.low, layout->range),
                        layout->range.low, block_of(layout->range.high, layout->range),
                        layout->range.high);
    if (layout->columns < grid->column_count)
        weir_buf_printf(&legend, "%sa column is the mean of up to %zu", legend.size > 0 ? "; " : "",
                        (grid->column_count + layout->columns - 1) / layout->columns);
    if (legend.size == 0)
        return;
    cli_put_cut(page, weir_buf_text(&legend), width_of_page(page));
    end_line(page);
}

void cli_plot_grid(struct cli_page *page, const struct cli_plot_grid *grid)
{
    if (grid->row_count == 0 || grid->column_count == 0)
        return;
    struct layout layout = layout_of(grid, page);
    put_titles(page, grid, &layout);
    for (size_t i = 0; i < grid->row_count; i++)
        put_row(page, grid, i, &layout);
    put_legend(page, grid, &layout);
}
