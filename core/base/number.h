/* Integers and the order of numbers. */
#ifndef WEIR_BASE_NUMBER_H
#define WEIR_BASE_NUMBER_H

#include <stdint.h>

/* value / by, rounded down; by > 0. */
int64_t weir_divide_down(int64_t value, int64_t by);

/* Ascending order, for qsort() and bsearch(). */
int weir_order_u64(const void *left, const void *right);
int weir_order_doubles(const void *left, const void *right);

#endif
