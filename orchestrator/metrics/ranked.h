/* What metrics of a ranking share: one class against the rest, by falling score. */
#ifndef ORCHESTRATOR_METRICS_RANKED_H
#define ORCHESTRATOR_METRICS_RANKED_H

#include "orchestrator/metrics/metric.h"

/* Samples of equal score are one step. */
struct rank_step {
    size_t positives, negatives;             /* in this step */
    size_t positives_above, negatives_above; /* in the steps before, whose scores are higher */
};

/* Sums what `area` says of each step, over the steps of one class; 0 or 1 for two classes, else the mean
 * over the classes that can be told from the rest. `area` gets the positives and negatives of all
 * steps. False: one class alone, or a score that is no number. */
typedef double rank_area_fn(const struct rank_step *step, size_t positives, size_t negatives);
bool orchestrator_rank_measure(const struct metric_input *input, rank_area_fn *area,
                               double *ret_value);

#endif
