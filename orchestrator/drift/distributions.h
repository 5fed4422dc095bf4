/* Tails of the distributions that the p-values of the statistics come from. */
#ifndef ORCHESTRATOR_DRIFT_DISTRIBUTIONS_H
#define ORCHESTRATOR_DRIFT_DISTRIBUTIONS_H

#include <stddef.h>

/* P(X >= x) of the limit of sqrt(n) D (Kolmogorov 1933). */
double orchestrator_kolmogorov_tail(double x);
/* P(D >= found / (m n)) of two samples of sizes m and n without ties: the share of lattice paths that leave
 * the band (Hodges 1958). Time m n, memory n. */
double orchestrator_smirnov_tail(size_t m, size_t n, double found);
/* P(X >= x) of the limit of n ω² (Anderson & Darling 1952, (4.35); as a series of Csörgő & Faraway 1996,
 * (1.2)). */
double orchestrator_cramer_tail(double x);
/* P(X >= x) of chi-square with `degrees` > 0 of freedom. */
double orchestrator_chi_square_tail(double x, double degrees);
/* P(X >= x) of the normal distribution. */
double orchestrator_normal_tail(double x);

#endif
