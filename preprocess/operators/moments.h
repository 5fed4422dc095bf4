/* Mean, deviation and range of numbers, the former as Welford sums that are merged by the pairwise formula (Chan,
 * Golub & LeVeque, 1983): the same parts in the same order give the same bits. */
#ifndef WEIR_PREPROCESS_OPERATORS_MOMENTS_H
#define WEIR_PREPROCESS_OPERATORS_MOMENTS_H

#include <stdint.h>

/* Zeroed is of no number. */
struct moments {
    uint64_t count;
    double mean;
    double squares; /* of the deviations from it, summed */
    double least, greatest;
};

/* Adds a number, unless it is NaN or infinite. */
void preprocess_moments_add(struct moments *moments, double value);
void preprocess_moments_merge(struct moments *to, const struct moments *from);
/* Returns the standard deviation; 1 where no number varies, so that it can be divided by. */
double preprocess_moments_deviation(const struct moments *moments);
/* Returns the greatest less the least; likewise. */
double preprocess_moments_range(const struct moments *moments);

#endif
