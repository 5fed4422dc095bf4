/* From answers to rows and windows, and to lines of scores: see plots.h. */
#include "cli/plots.h"

#include "cli/answer.h"
#include "cli/plot.h"
#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 20, KINDS_MAX = 8 };

/* ---- rows with values on windows ---- */

/* Times are the answer's; in UTC they sort as texts. */
struct window {
    const char *from, *until;
};

struct point {
    struct window on;
    size_t row;
    double value;
};

struct sheet {
    char **names;        /* of rows */
    const json_t **rows; /* the answer's */
    size_t row_count;
    struct point *points;
    size_t point_count, point_capacity;
    struct window *windows; /* each once, in the order of time */
    size_t window_count;
};

static void sheet_init(struct sheet *sheet, size_t rows_max)
{
    *sheet = (struct sheet){.names = weir_calloc(rows_max + 1, sizeof(*sheet->names)),
                            .rows = weir_calloc(rows_max + 1, sizeof(const json_t *))};
}

static void sheet_fini(struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->row_count; i++)
        free(sheet->names[i]);
    free(sheet->names);
    free(sheet->rows);
    free(sheet->points);
    free(sheet->windows);
}

/* Takes the name. */
static void add_row(struct sheet *sheet, char *name, const json_t *row)
{
    sheet->names[sheet->row_count] = name;
    sheet->rows[sheet->row_count++] = row;
}

/* Of the newest row; what is not defined is no point. */
static void add_point(struct sheet *sheet, const char *from, const char *until, const json_t *value)
{
    if (!json_is_number(value))
        return;
    sheet->points = weir_grow(sheet->points, sheet->point_count, &sheet->point_capacity,
                              sizeof(*sheet->points));
    sheet->points[sheet->point_count++] =
        (struct point){{from, until}, sheet->row_count - 1, json_number_value(value)};
}

static int by_time(const void *left, const void *right)
{
    const struct window *a = left, *b = right;
    int from = strcmp(a->from, b->from);
    return from != 0 ? from : strcmp(a->until, b->until);
}

/* Once all points are there. */
static void find_windows(struct sheet *sheet)
{
    struct window *windows = weir_calloc(sheet->point_count + 1, sizeof(*windows));
    size_t kept = 0;
    for (size_t i = 0; i < sheet->point_count; i++)
        windows[i] = sheet->points[i].on;
    qsort(windows, sheet->point_count, sizeof(*windows), by_time);
    for (size_t i = 0; i < sheet->point_count; i++)
        if (kept == 0 || by_time(&windows[kept - 1], &windows[i]) != 0)
            windows[kept++] = windows[i];
    sheet->windows = windows;
    sheet->window_count = kept;
}

static size_t window_of(const struct sheet *sheet, const struct point *point)
{
    const struct window *found =
        bsearch(&point->on, sheet->windows, sheet->window_count, sizeof(*sheet->windows), by_time);
    return (size_t)(found - sheet->windows);
}

/* Returns the mean of each row on each window, row by row, NAN where it has no point; for the caller to free. */
static double *values_of(const struct sheet *sheet)
{
    size_t count = sheet->row_count * sheet->window_count;
    double *values = weir_calloc(count + 1, sizeof(*values));
    size_t *points = weir_calloc(count + 1, sizeof(*points));
    for (size_t i = 0; i < sheet->point_count; i++) {
        const struct point *point = &sheet->points[i];
        size_t at = point->row * sheet->window_count + window_of(sheet, point);
        values[at] += point->value;
        points[at]++;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = points[i] == 0 ? (double)NAN : values[i] / (double)points[i];
    free(points);
    return values;
}

static void draw_sheet(struct cli_page *page, const struct sheet *sheet, const bool *marks)
{
    double *values = values_of(sheet);
    char **titles = weir_calloc(sheet->window_count + 1, sizeof(*titles));
    for (size_t i = 0; i < sheet->window_count; i++) {
        WEIR_AUTO_BUF title = {0};
        cli_put_time(&title, sheet->windows[i].from);
        titles[i] = weir_strdup(weir_buf_text(&title));
    }
    cli_plot_grid(page, &(struct cli_plot_grid){(const char *const *)sheet->names, sheet->row_count,
                                                (const char *const *)titles, sheet->window_count,
                                                values, marks});
    for (size_t i = 0; i < sheet->window_count; i++)
        free(titles[i]);
    free(titles);
    free(values);
}

/* ---- models ---- */

static void add_evaluations(struct sheet *sheet, const json_t *trigger,
                            const struct cli_measured *of)
{
    const json_t *evaluations = json_object_get(trigger, "evaluations");
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        const json_t *one = json_array_get(evaluations, i);
        if (strcmp(cli_text(one, "name"), of->evaluation) == 0 &&
            strcmp(cli_text(one, "metric"), of->metric) == 0)
            add_point(sheet, cli_text(one, "from"), cli_text(one, "to"),
                      json_object_get(one, "value"));
    }
}

/* A row for each of the newest triggers. */
static void gather_models(struct sheet *sheet, const json_t *triggers, size_t rows_max,
                          const struct cli_measured *of)
{
    size_t count = json_array_size(triggers);
    sheet_init(sheet, rows_max);
    for (size_t i = count > rows_max ? count - rows_max : 0; i < count; i++) {
        const json_t *trigger = json_array_get(triggers, i);
        add_row(sheet, weir_format("trigger %lld", (long long)cli_number(trigger, "trigger")),
                trigger);
        add_evaluations(sheet, trigger, of);
    }
    find_windows(sheet);
}

static const char *until_of(const struct sheet *sheet, const struct point *point)
{
    return cli_text(sheet->rows[point->row], "until");
}

/* Returns for each window the point of the newest model whose samples all lie before it, or NULL; for the caller to
 * free. */
static const struct point **served_on(const struct sheet *sheet)
{
    const struct point **served =
        weir_calloc(sheet->window_count + 1, sizeof(const struct point *));
    for (size_t i = 0; i < sheet->point_count; i++) {
        const struct point *point = &sheet->points[i];
        size_t window = window_of(sheet, point);
        const char *until = until_of(sheet, point);
        bool is_before = strcmp(until, point->on.from) <= 0;
        if (is_before &&
            (served[window] == NULL || strcmp(until_of(sheet, served[window]), until) <= 0))
            served[window] = point;
    }
    return served;
}

static void draw_in_use(struct cli_page *page, const struct sheet *sheet, const char *title)
{
    const struct point **served = served_on(sheet);
    double *values = weir_calloc(sheet->window_count + 1, sizeof(*values));
    for (size_t i = 0; i < sheet->window_count; i++)
        values[i] = served[i] == NULL ? (double)NAN : served[i]->value;
    cli_plot_line(
        page, &(struct cli_plot_line){title, values, sheet->window_count, .limit = (double)NAN});
    free(values);
    free(served);
}

static void draw_models(struct cli_page *page, const struct sheet *sheet)
{
    const struct point **served = served_on(sheet);
    bool *marks = weir_calloc(sheet->row_count * sheet->window_count + 1, sizeof(*marks));
    for (size_t i = 0; i < sheet->window_count; i++)
        if (served[i] != NULL)
            marks[served[i]->row * sheet->window_count + i] = true;
    draw_sheet(page, sheet, marks);
    free(marks);
    free(served);
}

void cli_plot_in_use(struct cli_page *page, const json_t *triggers, const struct cli_measured *of)
{
    struct sheet sheet;
    gather_models(&sheet, triggers, json_array_size(triggers), of);
    draw_in_use(page, &sheet, of->title);
    sheet_fini(&sheet);
}

void cli_plot_models(struct cli_page *page, const json_t *triggers, const struct cli_measured *of)
{
    struct sheet sheet;
    gather_models(&sheet, triggers, ROWS_MAX, of);
    if (sheet.window_count > 0)
        cli_line(page, "%s of each model by window of %s, * in use:", of->title, of->evaluation);
    draw_models(page, &sheet);
    sheet_fini(&sheet);
}

/* ---- policies ---- */

static void add_windows(struct sheet *sheet, const json_t *cells, const char *policy)
{
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const json_t *windows = json_object_get(cell, "windows");
        bool is_of_it = strcmp(cli_text(cell, "policy"), policy) == 0;
        for (size_t j = 0; is_of_it && j < json_array_size(windows); j++) {
            const json_t *one = json_array_get(windows, j);
            add_point(sheet, cli_text(one, "from"), cli_text(one, "until"),
                      json_object_get(one, "value"));
        }
    }
}

void cli_plot_policies(struct cli_page *page, const json_t *comparison)
{
    const json_t *policies = json_object_get(comparison, "policies");
    struct sheet sheet;
    sheet_init(&sheet, json_array_size(policies));
    for (size_t i = 0; i < json_array_size(policies); i++) {
        const json_t *policy = json_array_get(policies, i);
        const char *name = cli_text(policy, "policy");
        add_row(&sheet, weir_strdup(name), policy);
        add_windows(&sheet, json_object_get(comparison, "cells"), name);
    }
    find_windows(&sheet);
    if (sheet.window_count > 0)
        cli_line(page, "%s of each policy by window:",
                 cli_text(json_object_get(comparison, "judge"), "metric"));
    draw_sheet(page, &sheet, NULL);
    sheet_fini(&sheet);
}

/* ---- checks ---- */

struct score {
    double value;
    bool fired;
};

/* The scores of one kind, in the order of checks. */
struct kind {
    char *name;
    struct score *scores;
    size_t count, capacity;
    double limit; /* the newest; NAN: none */
};

struct kinds {
    struct kind at[KINDS_MAX];
    size_t count;
};

/* Returns the kind of that name, a new one where there is none; NULL: there are as many as are drawn. */
static struct kind *kind_of(struct kinds *kinds, const char *name)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (strcmp(kinds->at[i].name, name) == 0)
            return &kinds->at[i];
    if (kinds->count == KINDS_MAX)
        return NULL;
    kinds->at[kinds->count] = (struct kind){.name = weir_strdup(name), .limit = (double)NAN};
    return &kinds->at[kinds->count++];
}

static void add_score(struct kinds *kinds, const char *name, const json_t *check,
                      const json_t *value, const json_t *limit)
{
    struct kind *kind = json_is_number(value) ? kind_of(kinds, name) : NULL;
    if (kind == NULL)
        return;
    kind->scores = weir_grow(kind->scores, kind->count, &kind->capacity, sizeof(*kind->scores));
    kind->scores[kind->count++] =
        (struct score){json_number_value(value), cli_number(check, "trigger") > 0};
    if (json_is_number(limit))
        kind->limit = json_number_value(limit);
}

static void add_statistic(struct kinds *kinds, const json_t *check, const json_t *statistic)
{
    bool is_test = strcmp(cli_text(statistic, "limit_of"), "p_value") == 0;
    WEIR_AUTO_FREE char *name =
        weir_format("%s%s", cli_text(statistic, "statistic"), is_test ? ", p value" : "");
    add_score(kinds, name, check, json_object_get(statistic, is_test ? "p_value" : "distance"),
              json_object_get(statistic, "limit"));
}

static void add_detector(struct kinds *kinds, const json_t *check, const json_t *detector)
{
    add_score(kinds, cli_text(detector, "detector"), check, json_object_get(detector, "found"),
              json_object_get(detector, "limit"));
}

static void add_criterion(struct kinds *kinds, const json_t *check, const json_t *criterion)
{
    add_score(kinds, cli_text(check, "metric"), check, json_object_get(check, "value"),
              json_object_get(criterion, "limit"));
}

static void add_each(struct kinds *kinds, const json_t *check, const char *key,
                     void (*add)(struct kinds *kinds, const json_t *check, const json_t *member))
{
    const json_t *members = json_object_get(check, key);
    for (size_t i = 0; i < json_array_size(members); i++)
        add(kinds, check, json_array_get(members, i));
}

static void add_check(struct kinds *kinds, const json_t *check)
{
    add_each(kinds, check, "statistics", add_statistic);
    add_each(kinds, check, "detectors", add_detector);
    add_each(kinds, check, "criteria", add_criterion);
    if (json_is_number(json_object_get(check, "avoidable_limit")))
        add_score(kinds, "avoidable", check, json_object_get(check, "avoidable"),
                  json_object_get(check, "avoidable_limit"));
    add_score(kinds, "cost of waiting", check, json_object_get(check, "area"),
              json_object_get(check, "limit"));
}

static void draw_kind(struct cli_page *page, const struct kind *kind)
{
    double *values = weir_calloc(kind->count, sizeof(*values));
    bool *fired = weir_calloc(kind->count, sizeof(*fired));
    for (size_t i = 0; i < kind->count; i++) {
        values[i] = kind->scores[i].value;
        fired[i] = kind->scores[i].fired;
    }
    cli_plot_line(page,
                  &(struct cli_plot_line){kind->name, values, kind->count, kind->limit, fired});
    free(values);
    free(fired);
}

void cli_plot_checks(struct cli_page *page, const json_t *checks)
{
    struct kinds kinds = {.count = 0};
    for (size_t i = 0; i < json_array_size(checks); i++)
        add_check(&kinds, json_array_get(checks, i));
    for (size_t i = 0; i < kinds.count; i++) {
        draw_kind(page, &kinds.at[i]);
        free(kinds.at[i].name);
        free(kinds.at[i].scores);
    }
}
