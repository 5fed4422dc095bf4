/* The distance between two windows of samples. A statistic is pure: the same windows, options and seed give
 * the same distance on any machine.
 *
 *     const struct drift_statistic *statistic = orchestrator_drift_find("mmd"); // NULL: not known
 *     cfg_read(statistic->options, …, options, err);                            // options_size bytes
 *     struct drift_score score;
 *     if (orchestrator_drift_measure(statistic, options, &input, &score))
 *         // score.distance, and score.p_value if it was asked for
 *
 * What is not finite is missing. Binned statistics count what is missing in a bin of its own; the others
 * leave it out: of a feature the number, of a multivariate statistic the row. A constant feature is like
 * any other; equal constants are 0 apart. A window without samples: no score.
 *
 * statistic_NAME.c holds `const struct drift_statistic orchestrator_statistic_NAME`, named in registry.c; those over
 * bins share statistics_binned.c. Who calls it with what, and what is made of the score: judge.h. */
#ifndef ORCHESTRATOR_DRIFT_STATISTIC_H
#define ORCHESTRATOR_DRIFT_STATISTIC_H

#include "core/config/plugin.h"

struct weir_work;

/* Numbers or classes: exactly one of the two pointers, unless count is 0. */
struct drift_window {
    size_t count;
    const float *values;   /* (count, width), row by row */
    const int64_t *labels; /* count of them; the width is 1 */
};

struct drift_input {
    struct drift_window reference, current;
    size_t width;
    bool p_value; /* asked for */
    uint64_t seed;
    struct weir_work *work; /* once it is given up, the score says nothing; NULL: none */
};

/* p_value is the chance of such a distance, or a larger one, between windows of the same stream; over
 * several features it is corrected for their number. NaN: not asked for, or the statistic has none. */
struct drift_score {
    double distance;
    double p_value;
    size_t features; /* with a distance; 1 for a multivariate statistic */
};

/* One feature, or the labels, of both windows. */
struct drift_feature {
    const double *reference, *current; /* finite, ascending */
    size_t reference_count, current_count;
    size_t reference_missing, current_missing;
    bool classes; /* the numbers are names */
    bool p_value; /* asked for */
};

/* One number for a feature. */
struct drift_distance {
    double distance;
    double p_value; /* NaN when there is none */
};

/* Exactly one of measure() and measure_feature() is there. Both answer false when there is no distance. */
struct drift_statistic {
    CFG_PLUGIN;
    bool takes_labels; /* classes without an order */
    bool has_p_value;

    /* Feature by feature; the driver takes their mean and corrects the p-value. */
    bool (*measure_feature)(const void *options, const struct drift_feature *feature,
                            struct drift_distance *ret_distance);
    /* All features at once. Called with rows that are whole, at least one in each window. */
    bool (*measure)(const void *options, const struct drift_input *input,
                    struct drift_distance *ret_distance);
};

/* Corrections that make one p-value of those of several features: Bonferroni; Benjamini & Hochberg (1995), under which
 * some feature is rejected at a level exactly when the corrected value is below it. */
enum drift_correction { DRIFT_BONFERRONI, DRIFT_FDR };
/* `p_values` are sorted in place; NaN when there are none. */
double orchestrator_drift_correct(enum drift_correction correction, double *p_values, size_t count);

struct drift_request {
    const struct drift_statistic *statistic;
    const void *options;
    enum drift_correction correction;
};

/* False: no score, `ret_score` says nothing: a window (or every feature in one of them) is empty, or
 * the statistic does not take labels. Memory: a column of both windows as doubles, or a copy of the whole
 * rows when some have holes, and what statistic_NAME.c says. */
bool orchestrator_drift_measure(const struct drift_request *asked, const struct drift_input *input,
                                struct drift_score *ret_score);

/* A feature in both windows. */
struct drift_moved {
    size_t feature; /* from 0 */
    double distance;
    double reference_mean, current_mean;       /* of its finite numbers; NaN: there are none */
    double reference_missing, current_missing; /* share of the samples */
};

/* Measures each feature by itself with a statistic that goes feature by feature; farthest first, those at the same
 * distance in their order. Returns the number of those that have a distance; `ret_moved` has room for all. */
size_t orchestrator_drift_measure_each(const struct drift_request *asked,
                                       const struct drift_input *input,
                                       struct drift_moved *ret_moved);

CFG_REGISTRY(orchestrator_drift, struct drift_statistic, ORCHESTRATOR_DRIFT_STATISTICS)

#endif
