/* A feature of both windows counted in the same bins, which the reference lays out. */
#ifndef ORCHESTRATOR_DRIFT_BINS_H
#define ORCHESTRATOR_DRIFT_BINS_H

#include "orchestrator/drift/statistic.h"

struct drift_bins_options {
    uint64_t bins;
    int by;
};

/* NULL-terminated: quantile, width. */
extern const char *const DRIFT_BINS_BY[];

/* Two rows of a key table. */
// clang-format off
#define DRIFT_BINS_KEYS(owner, member)                                                            \
    CFG_KEY_AS("bins", CFG_KIND_U64, uint64_t, owner, member.bins, .fallback = "10", .min = 2,    \
               .max = 1000, .doc = "bins of numbers; a class is a bin of its own, and so is what " \
                                   "is missing"),                                                 \
    CFG_KEY_AS("by", CFG_KIND_CHOICE, int, owner, member.by, .fallback = "quantile",              \
               .choices = DRIFT_BINS_BY,                                                          \
               .doc = "quantile: bins hold equally many of the reference; width: bins are "       \
                      "equally wide between its ends")
// clang-format on

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
