/* A growing list, sorted when it is printed. */
#include "orchestrator/monitoring/figures.h"

#include "core/base/memory.h"
#include "core/base/require.h"
#include "core/base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct figure {
    enum measure measure;
    double value;
    const char *labels[MEASURE_LABELS_MAX];
    size_t place; /* order of arrival */
};

struct figures {
    struct weir_arena *arena;
    struct figure *at;
    size_t count, capacity;
    size_t left_out;
};

struct figures *orchestrator_figures_new(void)
{
    struct figures *figures = weir_calloc(1, sizeof(*figures));
    figures->arena = weir_arena_new();
    return figures;
}

void orchestrator_figures_free(struct figures *figures)
{
    if (figures == NULL)
        return;
    weir_arena_free(figures->arena);
    free(figures->at);
    free(figures);
}

void orchestrator_figures_add(struct figures *figures, enum measure measure, double value,
                              const char *const labels[MEASURE_LABELS_MAX])
{
    const struct measure_about *about = &ORCHESTRATOR_MEASURES[measure];

    if (figures->count == FIGURES_MAX) {
        figures->left_out++;
        return;
    }
    figures->at = weir_grow(figures->at, figures->count, &figures->capacity, sizeof(*figures->at));
    struct figure *figure = &figures->at[figures->count++];
    *figure = (struct figure){.measure = measure, .value = value};
    for (size_t i = 0; i < MEASURE_LABELS_MAX; i++) {
        weir_require((labels[i] != NULL) == (about->labels[i] != NULL));
        if (labels[i] == NULL)
            continue;
        char *copy = weir_arena_strndup(figures->arena, labels[i], strlen(labels[i]));
        weir_utf8_repair(copy);
        figure->labels[i] = copy;
    }
}

/* ---- the page ---- */

static int order_labels(const struct figure *a, const struct figure *b)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i < MEASURE_LABELS_MAX && a->labels[i] != NULL; i++)
        order = strcmp(a->labels[i], b->labels[i]);
    return order;
}

static int order(const void *left, const void *right)
{
    const struct figure *a = left, *b = right;
    if (a->measure != b->measure)
        return a->measure < b->measure ? -1 : 1;
    int labels = order_labels(a, b);
    return labels != 0 ? labels : a->place < b->place ? -1 : 1;
}

/* The figures of all lists, in the order of the page; the caller frees them. */
static struct figure *gather(const struct figures *const *lists, size_t count, size_t *ret_count,
                             size_t *ret_left_out)
{
    size_t total = 0, place = 0;
    *ret_left_out = 0;
    for (size_t i = 0; i < count; i++) {
        total += lists[i]->count;
        *ret_left_out += lists[i]->left_out;
    }
    struct figure *all = weir_calloc(total + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < lists[i]->count; k++) {
            all[place] = lists[i]->at[k];
            all[place].place = place;
            place++;
        }
    qsort(all, total, sizeof(*all), order);
    *ret_left_out += total > FIGURES_MAX ? total - FIGURES_MAX : 0;
    *ret_count = total > FIGURES_MAX ? FIGURES_MAX : total;
    return all;
}

static void print_escaped(const char *text, struct weir_buf *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            weir_buf_append_text(out, "\\n");
        else if (*text == '\\' || *text == '"')
            weir_buf_printf(out, "\\%c", *text);
        else
            weir_buf_append(out, text, 1);
    }
}

/* In the fewest digits that give the same number again. */
static void print_number(double value, struct weir_buf *out)
{
    enum { DIGITS_MIN = 15, DIGITS_MAX = 17 };
    char text[40] = "NaN";
    if (isinf(value))
        (void)snprintf(text, sizeof(text), value > 0 ? "+Inf" : "-Inf");
    for (int digits = DIGITS_MIN; isfinite(value) && digits <= DIGITS_MAX; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    weir_buf_append_text(out, text);
}

static void print_head(const struct measure_about *about, struct weir_buf *out)
{
    weir_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", about->name, about->help, about->name,
                    orchestrator_measure_kind_name(about->kind));
}

static void print_figure(const struct figure *figure, struct weir_buf *out)
{
    const struct measure_about *about = &ORCHESTRATOR_MEASURES[figure->measure];
    weir_buf_append_text(out, about->name);
    for (size_t i = 0; i < MEASURE_LABELS_MAX && figure->labels[i] != NULL; i++) {
        weir_buf_printf(out, "%s%s=\"", i == 0 ? "{" : ",", about->labels[i]);
        print_escaped(figure->labels[i], out);
        weir_buf_append_text(out, "\"");
    }
    weir_buf_append_text(out, figure->labels[0] != NULL ? "} " : " ");
    print_number(figure->value, out);
    weir_buf_append_text(out, "\n");
}

void orchestrator_figures_print(const struct figures *const *lists, size_t count,
                                struct weir_buf *out)
{
    size_t total, left_out;
    WEIR_AUTO_FREE struct figure *all = gather(lists, count, &total, &left_out);
    const struct figure *last = NULL;
    for (size_t i = 0; i < total; i++) {
        if (last == NULL || last->measure != all[i].measure)
            print_head(&ORCHESTRATOR_MEASURES[all[i].measure], out);
        else if (order_labels(last, &all[i]) == 0)
            continue;
        last = &all[i];
        print_figure(last, out);
    }
    const struct figure told = {.measure = MEASURE_metrics_left_out, .value = (double)left_out};
    print_head(&ORCHESTRATOR_MEASURES[told.measure], out);
    print_figure(&told, out);
}
