/* Means over seeds, their intervals, and paired differences, all by Student's t. Pure. */
#ifndef ORCHESTRATOR_COMPARING_INTERVALS_H
#define ORCHESTRATOR_COMPARING_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>

/* The mean of `count` values, and where it lies with 95 % confidence; one value has no interval. */
struct mean_interval {
    size_t count;
    double mean, low, high;
    bool has_interval;
};

struct mean_interval orchestrator_interval_of(const double *values, size_t count);

/* The t for which P(|T| >= t) of Student's t with `degrees` >= 1 of freedom is `tails`, between 0 and 1. */
double orchestrator_student_quantile(double tails, size_t degrees);

#endif
