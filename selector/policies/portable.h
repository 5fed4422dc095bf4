/* Logarithm and exponential from additions, multiplications and divisions alone, always in the same
 * order: the C library's differ in the last bit between versions and processors, and a sample set
 * must not. Compile users with -ffp-contract=off. Relative error below 1e-14. */
#ifndef SELECTOR_POLICIES_PORTABLE_H
#define SELECTOR_POLICIES_PORTABLE_H

/* Natural logarithm of a normal number above 0. */
double selector_log(double x);
/* 2^x; 0 below -1000 and the largest number above 1000. */
double selector_exp2(double x);
/* 1 - e^-x for x >= 0, precise for small x too. */
double selector_one_minus_exp(double x);

#endif
