/* A feature of both windows counted in the same bins, which the reference lays out. */
#ifndef ORCHESTRATOR_DRIFT_BINS_H
#define ORCHESTRATOR_DRIFT_BINS_H

#include "orchestrator/drift/statistic.h"

struct drift_bins_options {
    uint64_t bins;
    int by; /* enum drift_bins_by */
};

enum drift_bins_by { DRIFT_BINS_BY_QUANTILE, DRIFT_BINS_BY_WIDTH };

/* The first and the last bin have no outer end. `count` is how many bins hold anything. */
struct drift_bins {
    size_t count;
    double *reference, *current; /* counts */
    double reference_total, current_total;
};

void orchestrator_bins_init(struct drift_bins *bins, const struct drift_bins_options *options,
                            const struct drift_feature *feature);
void orchestrator_bins_fini(struct drift_bins *bins);

/* Replaces counts by shares. With `unseen` each bin has that many samples more, so that no share is 0. */
void orchestrator_bins_share(struct drift_bins *bins, double unseen);

#endif
