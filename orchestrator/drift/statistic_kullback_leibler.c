/* kullback_leibler: Σ q ln(q / p), what is lost by taking the reference for the current window (Kullback & Leibler
 * 1951), over the shares of the bins. Each bin has half a sample more, so that one which is empty on one side
 * is a number. */
#include "core/base/number.h"
#include "orchestrator/drift/bins.h"

#include <math.h>

struct kullback_leibler_options {
    struct drift_bins_options bins;
};

static const struct cfg_key OPTIONS[] = {
    DRIFT_BINS_KEYS(struct kullback_leibler_options, bins),
    CFG_END,
};

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    double sum = 0;
    orchestrator_bins_init(&bins, &((const struct kullback_leibler_options *)options)->bins,
                           feature);
    orchestrator_bins_share(&bins, 0.5);
    for (size_t i = 0; i < bins.count; i++) {
        double p = bins.reference[i], q = bins.current[i];
        sum += q * weir_ln(q / p);
    }
    orchestrator_bins_fini(&bins);
    ret_distance->distance = fmax(0, sum);
    return true;
}

const struct drift_statistic statistic_kullback_leibler = {
    .name = "kullback_leibler",
    .summary =
        "Kullback-Leibler divergence of the current window from the reference over bins, in nats",
    .options = OPTIONS,
    .options_size = sizeof(struct kullback_leibler_options),
    .takes_labels = true,
    .measure_feature = measure_feature,
};
