/* Samples in (event time, id) order, in a file: what a replay walks. Pages of packed columns
 * (core/wire/column.h), then a directory of the pages, then a footer:
 *
 *     page       u64 XXH3 of what follows, u32 bytes of the times, u32 of the ids, then times, ids, labels
 *     directory  per page: u64 offset, u32 bytes, u32 rows, i64 time and u64 id of its first row
 *     footer     of fixed size at the end: magic, the inputs, counts, XXH3-128 of directory and footer
 *
 * A file without a right footer is none: it is complete or not there. The same pages hold the sorted runs
 * while an order is being made (order_sort.h). */
#ifndef WEIR_STORAGE_ORDER_H
#define WEIR_STORAGE_ORDER_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { ORDER_PAGE_ROWS = 2048 };

struct order_row {
    int64_t time;
    uint64_t id;
    int64_t label;
};

/* Compares by time, then id: below 0, 0 or above 0. */
static inline int storage_order_compare(const struct order_row *x, const struct order_row *y)
{
    if (x->time != y->time)
        return x->time > y->time ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Inputs of an order: a change of any of these makes another order. */
struct order_inputs {
    uint64_t dataset;
    uint64_t position;
    uint64_t rows;   /* added up to the position */
    uint64_t erased; /* samples of the dataset that were erased by then: they are not in it */
};

struct order_page {
    uint64_t offset;
    uint32_t bytes, rows;
    int64_t time;
    uint64_t id;
};

/* ---- writing ---- */

struct order_writer {
    int fd;
    char *path;
    uint64_t offset;
    struct order_page *pages;
    size_t page_count, page_capacity;
    struct order_row rows[ORDER_PAGE_ROWS]; /* of the page being filled */
    size_t row_count;
    uint64_t total;
};

/* Makes `path` again. */
enum weir_status storage_order_writer_open(const char *path, struct order_writer **ret_writer,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Closes it, and removes the file unless it was finished. */
void storage_order_writer_free(struct order_writer *writer);
enum weir_status storage_order_write(struct order_writer *writer, const struct order_row *row,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Ends the page that is being filled. */
enum weir_status storage_order_flush(struct order_writer *writer,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Writes directory and footer, makes all durable and gives it the name `path`. */
enum weir_status storage_order_finish(struct order_writer *writer,
                                      const struct order_inputs *inputs, const char *path,
                                      struct weir_error *err) WEIR_MUST_USE;

/* ---- reading ---- */

/* CORRUPT when the page is not what was written. `rows` holds ORDER_PAGE_ROWS. */
enum weir_status storage_order_page(int fd, const struct order_page *page, struct order_row *rows,
                                    struct weir_error *err) WEIR_MUST_USE;

struct order;

/* NOT_FOUND: there is none; STALE: it was made from something else; CORRUPT: it is damaged. */
enum weir_status storage_order_open(const char *path, const struct order_inputs *inputs,
                                    struct order **ret_order, struct weir_error *err) WEIR_MUST_USE;
void storage_order_free(struct order *order);
/* At most `limit` rows after `after` (its time and id); fewer only at the end. */
enum weir_status storage_order_read(struct order *order, const struct order_row *after,
                                    size_t limit, struct order_row *rows, size_t *ret_count,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
