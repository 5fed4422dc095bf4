/* cvm: the squared gap between the two distribution functions, summed over both windows (Anderson, On the Distribution
 * of the Two-Sample Cramér-von Mises Criterion, 1962, (2)). The p-value is the limit's, after mean and variance
 * are put right for the sizes; ties make it too large. */
#include "orchestrator/drift/distributions.h"
#include "orchestrator/drift/merge.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static double squared_gaps(const struct drift_feature *feature)
{
    double m = (double)feature->reference_count, n = (double)feature->current_count;
    double sum = 0;
    size_t before = 0;
    for (struct drift_merge merge = {0}; orchestrator_merge_next(&merge, feature);) {
        double gap = (double)merge.reference / m - (double)merge.current / n;
        sum += gap * gap * (double)(merge.reference + merge.current - before);
        before = merge.reference + merge.current;
    }
    return sum;
}

static double tail(double found, double m, double n)
{
    double all = m + n;
    double mean = (1 + 1 / all) / 6;
    double variance = (all + 1) * (4 * m * n * all - 3 * (m * m + n * n) - 2 * m * n) /
                      (45 * all * all * 4 * m * n);
    return orchestrator_cramer_tail(1.0 / 6 + (found - mean) / sqrt(45 * variance));
}

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    double m = (double)feature->reference_count;
    double n = (double)feature->current_count;
    (void)options;
    if (feature->reference_count == 0 || feature->current_count == 0)
        return false;
    ret_distance->distance = squared_gaps(feature) * m * n / ((m + n) * (m + n));
    if (feature->p_value)
        ret_distance->p_value = tail(ret_distance->distance, m, n);
    return true;
}

const struct drift_statistic orchestrator_statistic_cvm = {
    .name = "cvm",
    .summary =
        "Cramer-von Mises: the squared gap between two distribution functions, summed; grows "
        "with the windows",
    .options = OPTIONS,
    .options_size = 1,
    .has_p_value = true,
    .measure_feature = measure_feature,
};
