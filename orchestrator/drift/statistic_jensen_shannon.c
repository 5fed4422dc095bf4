/* jensen_shannon: the root of the divergence (Endres & Schindelin 2003), to base 2: 0 to 1. */
#include "core/base/number.h"
#include "orchestrator/drift/bins.h"

#include <math.h>

struct jensen_shannon_options {
    struct drift_bins_options bins;
};

static const struct cfg_key OPTIONS[] = {
    DRIFT_BINS_KEYS(struct jensen_shannon_options, bins),
    CFG_END,
};

static bool measure_feature(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    double sum = 0;
    orchestrator_bins_init(&bins, &((const struct jensen_shannon_options *)options)->bins, feature);
    orchestrator_bins_share(&bins, 0);
    for (size_t i = 0; i < bins.count; i++) {
        double p = bins.reference[i], q = bins.current[i];
        double middle = (p + q) / 2;
        sum += (p > 0 ? p * weir_ln(p / middle) : 0) + (q > 0 ? q * weir_ln(q / middle) : 0);
    }
    orchestrator_bins_fini(&bins);
    ret_distance->distance = sqrt(fmax(0, sum / 2 / weir_ln(2)));
    return true;
}

const struct drift_statistic statistic_jensen_shannon = {
    .name = "jensen_shannon",
    .summary = "Jensen-Shannon distance between the shares of bins, to base 2: 0 to 1",
    .options = OPTIONS,
    .options_size = sizeof(struct jensen_shannon_options),
    .takes_labels = true,
    .measure_feature = measure_feature,
};
