/* Elementary functions that give the same bits on every machine and under every -march: additions, multiplications
 * and divisions of doubles, always in one order, nothing fused (-ffp-contract=off). Those of a C library differ in the
 * last bit between its versions and between processors, and what decides must not.
 *
 * Everywhere in Weir they take the place of <math.h>, of which only what IEEE 754 rounds exactly is called: sqrt,
 * floor, ceil, rint, nearbyint, fabs, fmin, fmax, copysign, ldexp, frexp, nextafter (tools/check_symbols).
 *
 * Arguments are reduced as by Cody and Waite, Software Manual for the Elementary Functions (1980), chapters 5 to 8,
 * with ln 2 in two parts; between the reduced ends stand the series of Abramowitz and Stegun, Handbook of Mathematical
 * Functions (1964), 4.1.27, 4.2.1, 4.3.65 and 4.3.66, so far that the rest is below 2^-57; what a step has rounded off
 * is added back as by Dekker, A Floating-Point Technique for Extending the Available Precision (1971). The errors are
 * those that tests/unit/base/elementary_test.c holds them to, in units in the last place of the result (ulp). NaN gives
 * NaN. */
#ifndef WEIR_BASE_ELEMENTARY_H
#define WEIR_BASE_ELEMENTARY_H

/* e^x within 1 ulp; 0 and INFINITY beyond the range of doubles. */
double weir_exp(double x);
/* 2^x within 1 ulp, exact for integers. */
double weir_exp2(double x);
/* e^x - 1 within 1.5 ulp, for small x too. */
double weir_expm1(double x);
/* Natural logarithm within 1 ulp; -INFINITY of 0 and below. */
double weir_ln(double x);
/* ln(1 + x) within 1 ulp, for small x too; -INFINITY of -1 and below. */
double weir_ln1p(double x);
/* x^y of x >= 0 within 1 + |y ln x| / 20 ulp; NaN of x < 0, and 1 where y is 0 or x is 1. */
double weir_pow(double x, double y);
/* cos(πx) within 2 ulp, exact at multiples of 1/2; NaN of INFINITY. */
double weir_cospi(double x);

#endif
