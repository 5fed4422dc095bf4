/* Integers and the order of numbers. */
#ifndef WEIR_BASE_NUMBER_H
#define WEIR_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* a + b, or the end of 64 bits that it lies beyond. */
int64_t weir_plus(int64_t a, int64_t b);
/* True for a time in nanoseconds that somebody can have spent: 0 to 36 years. The difference of two is an integer. */
bool weir_can_be_spent(int64_t ns);

/* value / by, rounded down; by > 0. */
int64_t weir_divide_down(int64_t value, int64_t by);

/* Ascending order, for qsort() and bsearch(). */
int weir_order_u64(const void *left, const void *right);
int weir_order_doubles(const void *left, const void *right);

#endif
