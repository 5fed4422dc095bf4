/* calibration_error: how far the probability of the class that is said is from how often it is
 * right, over bins of equal width (Guo et al., On Calibration of Modern Neural Networks, ICML 2017,
 * (3)). */
#include "core/base/memory.h"
#include "orchestrator/metrics/classes.h"

#include <math.h>

struct calibration_error_options {
    uint64_t bins;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct calibration_error_options, bins, .fallback = "15", .min = 1, .max = 10000,
            .doc = "of probability"),
    CFG_END,
};

struct bin {
    double chance, right;
};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    size_t bins = ((const struct calibration_error_options *)options)->bins;
    WEIR_AUTO_FREE struct bin *sums = weir_calloc(bins, sizeof(*sums));
    double error = 0;
    for (size_t i = 0; i < input->count; i++) {
        int64_t said = orchestrator_class_said(input, i);
        double chance = orchestrator_class_chance(input, i, said);
        if (!(chance >= 0 && chance <= 1))
            return false;
        size_t bin = (size_t)fmax(ceil(chance * (double)bins) - 1, 0); /* (from, to] */
        sums[bin].chance += chance;
        sums[bin].right += said == input->labels[i];
    }
    for (size_t i = 0; i < bins; i++)
        error += fabs(sums[i].right - sums[i].chance);
    *ret_value = error / (double)input->count;
    return true;
}

const struct metric orchestrator_metric_calibration_error = {
    .name = "calibration_error",
    .summary = "distance between the stated probability and the share of right answers; 0 is best",
    .options = OPTIONS,
    .options_size = sizeof(struct calibration_error_options),
    .higher_is_better = false,
    .measure = measure,
};
