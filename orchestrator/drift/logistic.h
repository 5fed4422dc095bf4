/* Logistic regression of two classes, for telling two windows apart: the minimum of the log loss,
 * summed, plus ridge / 2 times the squared weights; the intercept is free. By Newton's method, each
 * step by conjugate gradients, so no matrix is held. */
#ifndef ORCHESTRATOR_DRIFT_LOGISTIC_H
#define ORCHESTRATOR_DRIFT_LOGISTIC_H

#include <stdbool.h>
#include <stddef.h>

struct weir_work;

/* Rows that `skip` names with true are left out; NULL: none. */
struct logistic_rows {
    const double *values; /* (count, width) */
    const bool *labels, *skip;
    size_t count, width;
    struct weir_work *work; /* once it is given up, the weights say nothing; NULL: none */
};

/* width + 1 weights, the intercept last. */
void orchestrator_logistic_fit(const struct logistic_rows *rows, double ridge, double *ret_weights);
double orchestrator_logistic_score(const double *row, size_t width, const double *weights);

#endif
