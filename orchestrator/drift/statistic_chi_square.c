/* chi_square: Pearson's test that both windows have the same shares of the bins (1900). The distance is Cramér's V,
 * sqrt(χ² / n), which does not grow with the windows: 0 to 1. */
#include "orchestrator/drift/bins.h"
#include "orchestrator/drift/distributions.h"

#include <math.h>

struct chi_square_options {
    struct drift_bins_options bins;
};

static const struct cfg_key OPTIONS[] = {
    DRIFT_BINS_KEYS(struct chi_square_options, bins),
    CFG_END,
};

static double chi_square_of(const struct drift_bins *bins)
{
    double all = bins->reference_total + bins->current_total;
    double sum = 0;
    for (size_t i = 0; i < bins->count; i++) {
        double share = (bins->reference[i] + bins->current[i]) / all;
        double expected = share * bins->reference_total;
        double off =
            bins->reference[i] - expected; /* the same, with the other sign, in the other row */
        sum += off * off / expected + off * off / (share * bins->current_total);
    }
    return sum;
}

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    orchestrator_bins_init(&bins, &((const struct chi_square_options *)options)->bins, feature);
    double found = chi_square_of(&bins);
    ret_distance->distance = sqrt(found / (bins.reference_total + bins.current_total));
    if (feature->p_value)
        ret_distance->p_value =
            bins.count < 2 ? 1 : orchestrator_chi_square_tail(found, (double)bins.count - 1);
    orchestrator_bins_fini(&bins);
    return true;
}

const struct drift_statistic statistic_chi_square = {
    .name = "chi_square",
    .summary = "Pearson's chi-square over bins; the distance is Cramer's V, 0 to 1",
    .options = OPTIONS,
    .options_size = sizeof(struct chi_square_options),
    .takes_labels = true,
    .has_p_value = true,
    .measure_feature = measure_feature,
};
