/* One entry of a pipeline file's `evaluation`: what is measured, on which samples, when. */
#ifndef ORCHESTRATOR_EVALUATIONS_SECTION_H
#define ORCHESTRATOR_EVALUATIONS_SECTION_H

#include "orchestrator/evaluations/plan.h"
#include "orchestrator/metrics/metric.h"

enum { ORCHESTRATOR_METRICS_MAX = 16 };

enum evaluation_when { WHEN_AFTER_TRAINING, WHEN_AFTER_PIPELINE, WHEN_ON_DEMAND };

/* Texts are borrowed from the document, which must outlive it; the rest is owned. */
struct orchestrator_evaluation {
    const char *name;
    bool holdout;        /* on what datasets[].holdout keeps from training */
    const char *dataset; /* on this one's samples alone; NULL: on those of all */
    int when;            /* enum evaluation_when */
    struct evaluation_request request;
    void *section;       /* the keys of an evaluation, as they were read */
    const void *options; /* those of the strategy, in the same memory */
    void *state;         /* the strategy's */
    struct configured_metric *metrics[ORCHESTRATOR_METRICS_MAX];
    size_t metric_count;
};

/* Leaves something to fini() when it fails, too. */
enum weir_status orchestrator_evaluation_read(const struct weir_yaml_node *node,
                                              struct orchestrator_evaluation *evaluation,
                                              struct weir_error *err) WEIR_MUST_USE;
void orchestrator_evaluation_fini(struct orchestrator_evaluation *evaluation);

/* Appends the effective values as an element of a YAML list. */
void orchestrator_evaluation_print(const struct orchestrator_evaluation *evaluation,
                                   struct weir_buf *out);
/* Appends the reference of the section, its strategies and metrics. */
void orchestrator_evaluation_describe(struct weir_buf *out);

#endif
