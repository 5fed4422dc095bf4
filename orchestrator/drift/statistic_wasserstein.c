/* wasserstein: how far samples have to be moved to make one window the other (the earth mover's distance in one
 * dimension): the area between the two distribution functions. */
#include "orchestrator/drift/merge.h"

#include <math.h>

enum wasserstein_unit { UNIT_DEVIATION, UNIT_NONE };
static const char *const UNITS[] = {"deviation", "none", NULL};

struct wasserstein_options {
    int unit;
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(
        struct wasserstein_options, unit, .fallback = "deviation", .choices = UNITS,
        .doc = "deviation: in standard deviations of the feature in the reference (as it is where "
               "that is 0), so that features can be compared; none: as it is"),
    CFG_END,
};

static double area_between(const struct drift_feature *feature)
{
    double m = (double)feature->reference_count, n = (double)feature->current_count;
    double area = 0;
    double gap = 0; /* up to the next number */
    double from = 0;
    for (struct drift_merge merge = {0}; orchestrator_merge_next(&merge, feature);) {
        area += gap * (merge.at - from);
        gap = fabs((double)merge.reference / m - (double)merge.current / n);
        from = merge.at;
    }
    return area;
}

static double deviation(const double *values, size_t count)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i];
    mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    return sqrt(square / (double)count);
}

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    if (feature->reference_count == 0 || feature->current_count == 0)
        return false;
    double unit = 1;
    if (((const struct wasserstein_options *)options)->unit == UNIT_DEVIATION)
        unit = deviation(feature->reference, feature->reference_count);
    ret_distance->distance = area_between(feature) / (unit > 0 ? unit : 1);
    return true;
}

const struct drift_statistic orchestrator_statistic_wasserstein = {
    .name = "wasserstein",
    .summary = "Wasserstein: how far samples have to be moved to make one window the other",
    .options = OPTIONS,
    .options_size = sizeof(struct wasserstein_options),
    .measure_feature = measure_feature,
};
