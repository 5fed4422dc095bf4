/* External merge sort: see order_sort.h. A pass reads the runs of one file and writes longer runs into the
 * next; the pass that leaves one run makes the result. */
#include "storage/feed/order_sort.h"

#include "core/base/heap.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One run being read: its pages [next, end) of the file, and the rows of the page before them. */
struct source {
    size_t next, end;
    size_t at, count;
    struct order_row *rows; /* ORDER_PAGE_ROWS */
};

struct order_sort {
    char *path;
    struct order_limits limits;
    struct order_row *buffer; /* the run being gathered */
    size_t buffered;
    uint64_t added;

    struct order_writer *runs; /* what the pass reads, or the first runs are written to */
    size_t *ends;              /* page after each run of it */
    size_t run_count, run_capacity;

    struct order_writer *longer; /* what the pass writes */
    size_t *longer_ends;
    size_t longer_count, longer_capacity;
    size_t first_run; /* first one not yet merged by this pass */
    struct source *sources;
    size_t *heap; /* sources by their next row, least first */
    size_t source_count, heap_count;

    int file_number;
    uint64_t merged; /* rows, in all passes */
};

struct order_sort *storage_order_sort_new(const char *path, const struct order_limits *limits)
{
    struct order_sort *sort = weir_calloc(1, sizeof(*sort));

    sort->path = weir_strdup(path);
    sort->limits = *limits;
    sort->buffer = weir_calloc(limits->run_rows, sizeof(*sort->buffer));
    return sort;
}

static void free_sources(struct order_sort *sort)
{
    for (size_t i = 0; i < sort->source_count; i++)
        free(sort->sources[i].rows);
    free(sort->sources);
    free(sort->heap);
    sort->sources = NULL;
    sort->heap = NULL;
    sort->source_count = sort->heap_count = 0;
}

void storage_order_sort_free(struct order_sort *sort)
{
    if (sort == NULL)
        return;
    free_sources(sort);
    storage_order_writer_free(sort->runs);
    storage_order_writer_free(sort->longer);
    free(sort->ends);
    free(sort->longer_ends);
    free(sort->buffer);
    free(sort->path);
    free(sort);
}

static enum weir_status open_writer(struct order_sort *sort, struct order_writer **ret_writer,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.%d.part", sort->path, sort->file_number++);

    return storage_order_writer_open(path, ret_writer, err);
}

static void add_end(size_t **ends, size_t *count, size_t *capacity, size_t end)
{
    *ends = weir_grow(*ends, *count, capacity, sizeof(**ends));
    (*ends)[(*count)++] = end;
}

/* ---- runs ---- */

static int by_time(const void *a, const void *b)
{
    return storage_order_compare(a, b);
}

static bool is_sorted(const struct order_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (by_time(&rows[i - 1], &rows[i]) > 0)
            return false;
    }
    return true;
}

static enum weir_status write_run(struct order_sort *sort, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (sort->runs == NULL)
        status = open_writer(sort, &sort->runs, err);
    if (!is_sorted(sort->buffer, sort->buffered))
        qsort(sort->buffer, sort->buffered, sizeof(*sort->buffer), by_time);
    for (size_t i = 0; status == WEIR_OK && i < sort->buffered; i++)
        status = storage_order_write(sort->runs, &sort->buffer[i], err);
    if (status == WEIR_OK)
        status = storage_order_flush(sort->runs, err);
    if (status == WEIR_OK)
        add_end(&sort->ends, &sort->run_count, &sort->run_capacity, sort->runs->page_count);
    sort->buffered = 0;
    return status;
}

enum weir_status storage_order_sort_add(struct order_sort *sort, const struct order_row *rows,
                                        size_t count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    sort->added += count;
    while (status == WEIR_OK && count > 0) {
        size_t room = sort->limits.run_rows - sort->buffered;
        size_t taken = count < room ? count : room;

        memcpy(sort->buffer + sort->buffered, rows, taken * sizeof(*rows));
        sort->buffered += taken;
        rows += taken;
        count -= taken;
        if (sort->buffered == sort->limits.run_rows)
            status = write_run(sort, err);
    }
    return status;
}

/* ---- merging ---- */

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct source *sources = ((const struct order_sort *)owner)->sources;
    const struct source *x = &sources[*(const size_t *)a], *y = &sources[*(const size_t *)b];

    return by_time(&x->rows[x->at], &y->rows[y->at]) < 0;
}

static const struct weir_heap_order BY_NEXT_ROW = {.element_bytes = sizeof(size_t),
                                                   .is_before = is_before};

/* The next page of a run; afterwards at == count only at its end. */
static enum weir_status refill(struct order_sort *sort, struct source *source,
                               struct weir_error *err)
{
    const struct order_page *page = &sort->runs->pages[source->next];

    source->at = source->count = 0;
    if (source->next == source->end)
        return WEIR_OK;
    source->next++;
    source->count = page->rows;
    return storage_order_page(sort->runs->fd, page, source->rows, err);
}

/* Opens the next runs of the pass. */
static enum weir_status open_sources(struct order_sort *sort, struct weir_error *err)
{
    size_t left = sort->run_count - sort->first_run;
    size_t count = left < sort->limits.fan_in ? left : sort->limits.fan_in;
    enum weir_status status = WEIR_OK;

    sort->sources = weir_calloc(count, sizeof(*sort->sources));
    sort->heap = weir_calloc(count, sizeof(*sort->heap));
    sort->source_count = sort->heap_count = count;
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        size_t run = sort->first_run + i;
        struct source *source = &sort->sources[i];

        *source =
            (struct source){.next = run > 0 ? sort->ends[run - 1] : 0, .end = sort->ends[run]};
        source->rows = weir_calloc(ORDER_PAGE_ROWS, sizeof(*source->rows));
        sort->heap[i] = i;
        status = refill(sort, source, err);
    }
    if (status == WEIR_OK)
        weir_heap_make(&BY_NEXT_ROW, sort->heap, count, sort);
    sort->first_run += count;
    return status;
}

/* Moves the least row on. */
static enum weir_status merge_row(struct order_sort *sort, struct weir_error *err)
{
    struct source *source = &sort->sources[sort->heap[0]];
    enum weir_status status = storage_order_write(sort->longer, &source->rows[source->at++], err);

    sort->merged++;
    if (status == WEIR_OK && source->at == source->count)
        status = refill(sort, source, err);
    if (source->count == 0)
        sort->heap[0] = sort->heap[--sort->heap_count];
    if (status == WEIR_OK)
        weir_heap_sink(&BY_NEXT_ROW, sort->heap, sort->heap_count, 0, sort);
    return status;
}

static enum weir_status end_run(struct order_sort *sort, struct weir_error *err)
{
    enum weir_status status = storage_order_flush(sort->longer, err);

    free_sources(sort);
    if (status == WEIR_OK)
        add_end(&sort->longer_ends, &sort->longer_count, &sort->longer_capacity,
                sort->longer->page_count);
    return status;
}

/* Ends a pass: the runs that it wrote are read by the next. */
static void end_pass(struct order_sort *sort)
{
    storage_order_writer_free(sort->runs);
    free(sort->ends);
    sort->runs = sort->longer;
    sort->ends = sort->longer_ends;
    sort->run_count = sort->longer_count;
    sort->run_capacity = sort->longer_capacity;
    sort->longer = NULL;
    sort->longer_ends = NULL;
    sort->longer_count = sort->longer_capacity = sort->first_run = 0;
}

static enum weir_status merge_some(struct order_sort *sort, size_t rows, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (sort->longer == NULL)
        status = open_writer(sort, &sort->longer, err);
    if (status == WEIR_OK && sort->sources == NULL)
        status = open_sources(sort, err);
    while (status == WEIR_OK && sort->heap_count > 0 && rows-- > 0)
        status = merge_row(sort, err);
    if (status == WEIR_OK && sort->heap_count == 0)
        status = end_run(sort, err);
    if (status == WEIR_OK && sort->sources == NULL && sort->first_run == sort->run_count)
        end_pass(sort);
    return status;
}

enum weir_status storage_order_sort_step(struct order_sort *sort, const struct order_inputs *inputs,
                                         size_t rows, bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_done = false;
    if (sort->buffer != NULL && (sort->buffered > 0 || sort->runs == NULL))
        status = write_run(sort, err);
    free(sort->buffer);
    sort->buffer = NULL;
    if (status == WEIR_OK && sort->run_count > 1)
        return merge_some(sort, rows, err);
    if (status == WEIR_OK)
        status = storage_order_finish(sort->runs, inputs, sort->path, err);
    *ret_done = status == WEIR_OK;
    return status;
}

double storage_order_sort_progress(const struct order_sort *sort)
{
    uint64_t work = sort->added;

    for (size_t runs = sort->added / sort->limits.run_rows + 1; runs > 1;
         runs = (runs + sort->limits.fan_in - 1) / sort->limits.fan_in)
        work += sort->added;
    return work > 0 ? (double)(sort->added + sort->merged) / (double)work : 0;
}
