/* A metric turns what a model said about the samples of an evaluation, and their labels, into one
 * number, or says that there is none (`undefined`): a ranking of one class has no quality. Pure.
 *
 * One file per metric: metric_NAME.c holds `const struct metric metric_NAME`, named in registry.c.
 */
#ifndef ORCHESTRATOR_METRICS_METRIC_H
#define ORCHESTRATOR_METRICS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `values` are probabilities: width 1 is that of the positive class (labels 0 and 1), width k one
 * per class. */
struct metric_input {
    const float *values; /* (count, width) */
    const int64_t *labels;
    size_t count;
    size_t width;
};

struct metric {
    const char *name;
    const char *summary;
    bool higher_is_better;
    /* Required. False: undefined on this input. */
    bool (*measure)(const struct metric_input *input, double *ret_value);
};

/* The metric called `name`, or NULL. */
const struct metric *orchestrator_metric_find(const char *name);
size_t orchestrator_metric_count(void);
const struct metric *orchestrator_metric_at(size_t index);

#endif
