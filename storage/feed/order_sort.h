/* Sorts any number of samples by (event time, id) in bounded memory: sorted runs in a file, merged until one
 * is left (Knuth, The Art of Computer Programming, volume 3, 5.4). Works in pieces. What it writes beside
 * its result goes with it; after a death whoever owns the folder removes it. */
#ifndef WEIR_STORAGE_ORDER_SORT_H
#define WEIR_STORAGE_ORDER_SORT_H

#include "storage/feed/order.h"

/* Memory is 24 bytes times the larger of run_rows and ORDER_PAGE_ROWS × fan_in, and 32 bytes a page. */
struct order_limits {
    size_t run_rows; /* sorted in memory at once */
    size_t fan_in;   /* runs merged at once, at least 2 */
};

struct order_sort;

/* Intermediate files are `path` with an ending. */
struct order_sort *storage_order_sort_new(const char *path, const struct order_limits *limits);
void storage_order_sort_free(struct order_sort *sort);
enum weir_status storage_order_sort_add(struct order_sort *sort, const struct order_row *rows,
                                        size_t count, struct weir_error *err) WEIR_MUST_USE;
/* All rows are added: `path` becomes their order. Merges some `rows` more; *ret_done with the last. */
enum weir_status storage_order_sort_step(struct order_sort *sort, const struct order_inputs *inputs,
                                         size_t rows, bool *ret_done,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Share of the work that is done, from 0 to 1. */
double storage_order_sort_progress(const struct order_sort *sort);

#endif
