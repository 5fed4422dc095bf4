/* Samples of an input, put together again: slices, and draws of a bootstrap. Pure. */
#ifndef ORCHESTRATOR_METRICS_GATHERED_H
#define ORCHESTRATOR_METRICS_GATHERED_H

#include "core/base/rng.h"
#include "orchestrator/metrics/metric.h"

struct metric_gathered {
    const struct metric_input *from;
    struct metric_input input; /* its own columns */
    float *values;
    int64_t *labels;
    double *numbers; /* NULL: `from` has none */
    int64_t *groups; /* the same */
    size_t capacity;
};

/* Empty; `from` is borrowed until the end. */
void orchestrator_metric_gathered_init(struct metric_gathered *gathered,
                                       const struct metric_input *from);
void orchestrator_metric_gathered_fini(struct metric_gathered *gathered);
/* Appends one sample of `from`. */
void orchestrator_metric_gather(struct metric_gathered *gathered, size_t sample);

/* Samples, or groups with all their samples, drawn with replacement as many times as there are. */
struct metric_draws {
    struct metric_gathered drawn; /* a group that is drawn twice is two groups */
    size_t *order;                /* the samples, group by group */
    size_t *starts;               /* of each group in `order`, and the end */
    size_t count;                 /* of groups; of samples, where they are drawn one by one */
};

void orchestrator_metric_draws_init(struct metric_draws *draws, const struct metric_input *from,
                                    bool by_group);
void orchestrator_metric_draws_fini(struct metric_draws *draws);
/* Replaces what was drawn before. */
void orchestrator_metric_draw(struct metric_draws *draws, struct weir_rng *rng);

#endif
