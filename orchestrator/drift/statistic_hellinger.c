/* hellinger: sqrt(1 - Σ sqrt(p q)) over the shares p, q of the bins (Hellinger 1909). 0 to 1. */
#include "orchestrator/drift/bins.h"

#include <math.h>

struct hellinger_options {
    struct drift_bins_options bins;
};

static const struct cfg_key OPTIONS[] = {
    DRIFT_BINS_KEYS(struct hellinger_options, bins),
    CFG_END,
};

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    double sum = 0;
    orchestrator_bins_init(&bins, &((const struct hellinger_options *)options)->bins, feature);
    orchestrator_bins_share(&bins, 0);
    for (size_t i = 0; i < bins.count; i++) {
        double p = bins.reference[i], q = bins.current[i];
        sum += sqrt(p * q);
    }
    orchestrator_bins_fini(&bins);
    ret_distance->distance = sqrt(fmax(0, 1 - sum));
    return true;
}

const struct drift_statistic statistic_hellinger = {
    .name = "hellinger",
    .summary = "Hellinger distance between the shares of bins, 0 to 1",
    .options = OPTIONS,
    .options_size = sizeof(struct hellinger_options),
    .takes_labels = true,
    .measure_feature = measure_feature,
};
