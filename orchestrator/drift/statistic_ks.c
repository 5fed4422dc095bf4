/* ks: the largest gap between the two distribution functions (Kolmogorov, Smirnov). The p-value is exact up to
 * a hundred thousand pairs, if there are no ties, and the limit's beyond. */
#include "orchestrator/drift/distributions.h"
#include "orchestrator/drift/merge.h"

#include <math.h>

static const double EXACT_MAX = 1e5;

static const struct cfg_key OPTIONS[] = {CFG_END};

/* The gap times the product of the counts, an integer: equal gaps are equal. */
static double largest_gap(const struct drift_feature *feature)
{
    double m = (double)feature->reference_count;
    double n = (double)feature->current_count;
    double largest = 0;
    for (struct drift_merge merge = {0}; orchestrator_merge_next(&merge, feature);)
        largest = fmax(largest, fabs((double)merge.reference * n - (double)merge.current * m));
    return largest;
}

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    double m = (double)feature->reference_count;
    double n = (double)feature->current_count;
    (void)options;
    if (feature->reference_count == 0 || feature->current_count == 0)
        return false;
    double gap = largest_gap(feature);
    ret_distance->distance = gap / (m * n);
    if (feature->p_value && m * n <= EXACT_MAX)
        ret_distance->p_value =
            orchestrator_smirnov_tail(feature->reference_count, feature->current_count, gap);
    else if (feature->p_value)
        ret_distance->p_value =
            orchestrator_kolmogorov_tail(ret_distance->distance * sqrt(m * n / (m + n)));
    return true;
}

const struct drift_statistic orchestrator_statistic_ks = {
    .name = "ks",
    .summary = "Kolmogorov-Smirnov: the largest gap between two distribution functions, 0 to 1",
    .options = OPTIONS,
    .options_size = 1,
    .has_p_value = true,
    .measure_feature = measure_feature,
};
