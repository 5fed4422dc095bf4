/* Sorted runs of names, merged by a heap: see name_window.h. No step sorts more than a run. */
#include "storage/files/name_window.h"

#include "core/base/heap.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_NAMES_MAX = 8192 };

struct run {
    size_t first, end; /* in `places` */
};

struct name_window {
    size_t bytes_max;
    struct weir_buf text; /* names, each with its zero byte */
    size_t *places;       /* of names in `text` */
    size_t count, capacity;
    struct run *runs; /* sorted, but for the open one at the end of `places`; a heap once merging */
    size_t run_count, run_capacity;
    size_t open_first;
    char *from;   /* names before this one were given; NULL: none */
    char *before; /* names from here on wait for the next pass; NULL: all fit */
    bool is_merging;
};

struct name_window *storage_name_window_new(size_t bytes_max)
{
    struct name_window *window = weir_calloc(1, sizeof(*window));

    window->bytes_max = bytes_max < NAME_WINDOW_BYTES_MIN ? NAME_WINDOW_BYTES_MIN : bytes_max;
    return window;
}

void storage_name_window_free(struct name_window *window)
{
    if (window == NULL)
        return;
    weir_buf_fini(&window->text);
    free(window->places);
    free(window->runs);
    free(window->from);
    free(window->before);
    free(window);
}

static const char *name_at(const struct name_window *window, size_t i)
{
    return (const char *)window->text.at + window->places[i];
}

static int by_name(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + *(const size_t *)a, (const char *)text + *(const size_t *)b);
}

/* ---- filling ---- */

static void add_run(struct name_window *window, size_t first, size_t end)
{
    window->runs =
        weir_grow(window->runs, window->run_count, &window->run_capacity, sizeof(*window->runs));
    window->runs[window->run_count++] = (struct run){.first = first, .end = end};
}

static void close_run(struct name_window *window)
{
    size_t count = window->count - window->open_first;

    if (count == 0)
        return;
    qsort_r(window->places + window->open_first, count, sizeof(*window->places), by_name,
            window->text.at);
    add_run(window, window->open_first, window->count);
    window->open_first = window->count;
}

static void append(struct name_window *window, const char *name, bool is_folder)
{
    window->places =
        weir_grow(window->places, window->count, &window->capacity, sizeof(*window->places));
    window->places[window->count++] = window->text.size;
    weir_buf_append(&window->text, name, strlen(name));
    weir_buf_append(&window->text, is_folder ? "/" : "", is_folder ? 2 : 1);
}

/* The middle of the runs' middles: after it lies about half of all names. */
static char *choose_cut(const struct name_window *window)
{
    size_t *middles = weir_calloc(window->run_count, sizeof(*middles));
    char *cut;

    for (size_t i = 0; i < window->run_count; i++) {
        const struct run *run = &window->runs[i];

        middles[i] = window->places[run->first + (run->end - run->first) / 2];
    }
    qsort_r(middles, window->run_count, sizeof(*middles), by_name, window->text.at);
    cut = weir_strdup((const char *)window->text.at + middles[window->run_count / 2]);
    free(middles);
    return cut;
}

static void drop_empty_runs(struct name_window *window)
{
    size_t kept = 0;

    for (size_t i = 0; i < window->run_count; i++) {
        if (window->runs[i].first < window->runs[i].end)
            window->runs[kept++] = window->runs[i];
    }
    window->run_count = kept;
}

/* Keeps the names before the cut, and the runs' order. */
static void trim(struct name_window *window)
{
    struct weir_buf text;
    size_t kept = 0;

    close_run(window);
    text = window->text;
    free(window->before);
    window->before = choose_cut(window);
    window->text = (struct weir_buf){0};
    weir_buf_reserve(&window->text, text.size);
    for (size_t r = 0; r < window->run_count; r++) {
        struct run *run = &window->runs[r];
        size_t i = run->first;

        run->first = kept;
        for (; i < run->end; i++) {
            const char *name = (const char *)text.at + window->places[i];

            if (strcmp(name, window->before) >= 0)
                break;
            window->places[kept++] = window->text.size;
            weir_buf_append(&window->text, name, strlen(name) + 1);
        }
        run->end = kept;
    }
    drop_empty_runs(window);
    window->count = window->open_first = kept;
    weir_buf_fini(&text);
}

static bool is_wanted(const struct name_window *window, const char *name)
{
    return (window->from == NULL || strcmp(name, window->from) >= 0) &&
           (window->before == NULL || strcmp(name, window->before) < 0);
}

void storage_name_window_add(struct name_window *window, const char *name, bool is_folder)
{
    append(window, name, is_folder);
    if (!is_wanted(window, name_at(window, window->count - 1))) {
        window->text.size = window->places[--window->count];
        return;
    }
    if (window->count - window->open_first == RUN_NAMES_MAX)
        close_run(window);
    if (window->text.size + window->count * sizeof(*window->places) > window->bytes_max)
        trim(window);
}

/* ---- emptying ---- */

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct name_window *window = owner;
    const struct run *x = a, *y = b;

    return strcmp(name_at(window, x->first), name_at(window, y->first)) < 0;
}

static const struct weir_heap_order BY_NAME = {.element_bytes = sizeof(struct run),
                                               .is_before = is_before};

static void begin_merge(struct name_window *window)
{
    close_run(window);
    weir_heap_make(&BY_NAME, window->runs, window->run_count, window);
    window->is_merging = true;
}

static const char *take_least(struct name_window *window)
{
    const char *name;

    if (window->run_count == 0)
        return NULL;
    name = name_at(window, window->runs[0].first++);
    if (window->runs[0].first == window->runs[0].end)
        window->runs[0] = window->runs[--window->run_count];
    weir_heap_sink(&BY_NAME, window->runs, window->run_count, 0, window);
    return name;
}

/* A folder that changes while it is read may tell a name twice. */
const char *storage_name_window_next(struct name_window *window)
{
    const char *name;

    if (!window->is_merging)
        begin_merge(window);
    name = take_least(window);
    while (name != NULL && window->run_count > 0 &&
           strcmp(name, name_at(window, window->runs[0].first)) == 0)
        name = take_least(window);
    return name;
}

bool storage_name_window_again(struct name_window *window)
{
    if (window->before == NULL)
        return false;
    free(window->from);
    window->from = window->before;
    window->before = NULL;
    weir_buf_clear(&window->text);
    window->count = window->open_first = window->run_count = 0;
    window->is_merging = false;
    return true;
}
