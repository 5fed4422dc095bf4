/* A metric turns what a model said about the samples of an evaluation, and their labels, into one
 * number, or says that there is none (`undefined`): a ranking of one class has no quality. Pure; samples
 * count alike, in whatever order they come.
 *
 * metric_NAME.c holds `const struct metric metric_NAME`, named in registry.c; those that differ by a formula share
 * metrics_FAMILY.c. */
#ifndef ORCHESTRATOR_METRICS_METRIC_H
#define ORCHESTRATOR_METRICS_METRIC_H

#include "core/config/plugin.h"

struct weir_work;

/* `values` are probabilities: width 1 is that of the positive class (labels 0 and 1), width k one
 * per class. For a regression they are the numbers themselves. */
struct metric_input {
    const float *values; /* (count, width) */
    const int64_t *labels;
    size_t count;
    size_t width;
    const double *numbers; /* (count, label_width): labels with a fraction, vectors; or NULL */
    size_t label_width;
    const int64_t *groups; /* of each sample; NULL: all are one */
    /* (count, slice_names->count): what `by: NAME` tells apart; NULL: nothing */
    const int64_t *slices;
    const struct cfg_texts *slice_names;
    struct weir_work *work; /* of the measuring, which is given up with it; NULL: none */
};

struct metric {
    CFG_PLUGIN;
    bool higher_is_better;
    bool of_groups;  /* ranks the samples of a group: a bootstrap draws whole groups */
    bool of_vectors; /* knows labels that are vectors; others are refused with such */
    /* Required. Called with at least one sample of at least one value. False, or what is not finite:
     * undefined on this input. */
    bool (*measure)(const void *options, const struct metric_input *input, double *ret_value);
};

CFG_REGISTRY(orchestrator_metric, struct metric, ORCHESTRATOR_METRICS)

/* ---- a metric as a pipeline file asks for it ---- */

enum { METRIC_LABEL_MAX = 120, METRIC_SLICES_MAX = 1000 };

struct configured_metric;

/* `node` is a name (accuracy) or a mapping ({name: top_n, n: 5}). `path` names the section in errors.
 * The document must outlive it. */
enum weir_status orchestrator_metric_open(const struct weir_yaml_node *node, const char *path,
                                          struct configured_metric **ret_asked,
                                          struct weir_error *err) WEIR_MUST_USE;
void orchestrator_metric_close(struct configured_metric *asked);
WEIR_DEFINE_AUTO(configured_metric, orchestrator_metric_close)

/* The label of its results: the name and the options that the file gives, "top_n(n=5)". */
const char *orchestrator_metric_label(const struct configured_metric *asked);
/* The key that its results are sliced by: nothing, label, group, or a name of training.slices. */
const char *orchestrator_metric_by(const struct configured_metric *asked);
const struct metric *orchestrator_metric_of(const struct configured_metric *asked);

struct metric_result {
    const char *slice_of; /* "label", "group", a name of training.slices; NULL: of all samples */
    int64_t slice;        /* its value for all samples of the result */
    size_t samples;
    bool defined, has_interval;
    double value;
    double low, high; /* of the bootstrap interval */
};

/* The result over all samples, then one for each label, group or slice if the file says so; the caller frees. */
size_t orchestrator_metric_measure(const struct configured_metric *asked,
                                   const struct metric_input *input,
                                   struct metric_result **ret_results);
/* Over all samples, without an interval. False: undefined. */
bool orchestrator_metric_value(const struct configured_metric *asked,
                               const struct metric_input *input, double *ret_value);

/* Appends the reference: what every metric may be asked, then each. */
void orchestrator_metric_describe(struct weir_buf *out);

#endif
