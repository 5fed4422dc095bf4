/* psi: population stability index, Σ (q - p) ln(q / p) over the shares of the bins. Each bin has half a sample more, so
 * that one which is empty on one side is a number. */
#include "core/base/number.h"
#include "orchestrator/drift/bins.h"

struct psi_options {
    struct drift_bins_options bins;
};

static const struct cfg_key OPTIONS[] = {
    DRIFT_BINS_KEYS(struct psi_options, bins),
    CFG_END,
};

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    double sum = 0;
    orchestrator_bins_init(&bins, &((const struct psi_options *)options)->bins, feature);
    orchestrator_bins_share(&bins, 0.5);
    for (size_t i = 0; i < bins.count; i++) {
        double p = bins.reference[i], q = bins.current[i];
        sum += (q - p) * weir_ln(q / p);
    }
    orchestrator_bins_fini(&bins);
    ret_distance->distance = sum;
    return true;
}

const struct drift_statistic statistic_psi = {
    .name = "psi",
    .summary =
        "population stability index over bins; below 0.1 is usually called stable, above 0.25 a shift",
    .options = OPTIONS,
    .options_size = sizeof(struct psi_options),
    .takes_labels = true,
    .measure_feature = measure_feature,
};
