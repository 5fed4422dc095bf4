/* Numbers. Arithmetic that gives the same bits on every machine: from additions, multiplications and divisions
 * alone, always in the same order. The C library's differ in the last bit between versions and
 * processors, and what is decided must not. */
#ifndef WEIR_BASE_NUMBER_H
#define WEIR_BASE_NUMBER_H

#include <stdint.h>

/* Natural logarithm of x > 0, relative error below 1e-14; -INFINITY of 0 and below, of INFINITY and NaN what they
 * are. */
double weir_ln(double x);
/* 2^x, relative error below 1e-14; 0 below -1000 and the largest number above 1000. */
double weir_exp2(double x);
/* 1 - e^-x for x >= 0, precise for small x too. */
double weir_one_minus_exp(double x);

/* value / by, rounded down; by > 0. */
int64_t weir_divide_down(int64_t value, int64_t by);

/* Ascending order, for qsort() and bsearch(). */
int weir_order_u64(const void *left, const void *right);
int weir_order_doubles(const void *left, const void *right);

#endif
