/* See labels.h. */
#include "orchestrator/config/labels.h"

#include <math.h>
#include <string.h>

static double label_of(const json_t *seen)
{
    return json_number_value(json_array_get(seen, 0));
}

/* With the loss of numbers, classes above 1 are such, too: the model says one number. */
static bool is_number(const struct orchestrator_config *config, double label)
{
    bool learns_numbers = config->program[0] == '\0' && strcmp(config->loss, "squared") == 0;

    return label != floor(label) || label < 0 || (learns_numbers && label > 1);
}

static bool is_zero(const struct orchestrator_config *config, double label)
{
    (void)config;
    return label == 0;
}

/* The first label that is so; NULL: there is none. */
static const json_t *find_label(const struct orchestrator_config *config, const json_t *dataset,
                                bool (*is_so)(const struct orchestrator_config *config,
                                              double label))
{
    const json_t *seen = json_object_get(dataset, "seen");

    for (size_t i = 0; i < json_array_size(seen); i++)
        if (is_so(config, label_of(json_array_get(seen, i))))
            return json_array_get(seen, i);
    return NULL;
}

/* One metric of one evaluation. */
struct place {
    const struct configured_metric *metric;
    const struct weir_yaml_node *node;
};

static void judge_metric(const struct orchestrator_config *config, const json_t *dataset,
                         struct place place, struct cfg_complaints *complaints)
{
    const struct metric *metric = orchestrator_metric_of(place.metric);
    const char *name = json_string_value(json_object_get(dataset, "dataset"));
    const json_t *number = find_label(config, dataset, is_number);
    const json_t *zero = find_label(config, dataset, is_zero);

    if (!metric->of_vectors && number != NULL)
        cfg_note_at(complaints, WEIR_INVALID, place.node,
                    "evaluation.metrics: found %s, which compares classes, and labels of dataset "
                    "'%s' are numbers, %g for example (%s): expected metrics of numbers, mse, "
                    "rmse, mae, mape or r2",
                    orchestrator_metric_label(place.metric), name, label_of(number),
                    json_string_value(json_array_get(number, 2)));
    if (strcmp(metric->name, "mape") == 0 && zero != NULL)
        cfg_note_at(complaints, WEIR_OK, place.node,
                    "evaluation.metrics: mape divides by the label, and that of %s of dataset '%s' "
                    "is 0: mae does not",
                    json_string_value(json_array_get(zero, 2)), name);
}

static void judge(const struct orchestrator_config *config, const json_t *dataset,
                  struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *list =
        weir_yaml_get(weir_yaml_root(config->document), "evaluation");

    for (size_t e = 0; e < config->evaluation_count; e++) {
        const struct orchestrator_evaluation *evaluation = &config->evaluations[e];
        const struct weir_yaml_node *metrics = weir_yaml_get(weir_yaml_at(list, e), "metrics");

        for (size_t m = 0; m < evaluation->metric_count; m++)
            judge_metric(config, dataset,
                         (struct place){evaluation->metrics[m], weir_yaml_at(metrics, m)},
                         complaints);
    }
}

/* A built-in model has nothing to tell apart where all labels of all datasets are one. Of a file that is sorted by its
 * label the beginning may be so, which makes it a remark. */
static void judge_variety(const struct orchestrator_config *config, const json_t *labels,
                          struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *datasets =
        weir_yaml_get(weir_yaml_root(config->document), "datasets");
    const json_t *first = json_array_get(json_object_get(json_array_get(labels, 0), "seen"), 0);
    json_int_t count = 0;

    for (size_t i = 0; i < json_array_size(labels); i++) {
        const json_t *seen = json_object_get(json_array_get(labels, i), "seen");
        const json_t *only = json_array_get(seen, 0);

        if (json_array_size(seen) != 1 || label_of(only) != label_of(first))
            return;
        count += json_integer_value(json_array_get(only, 1));
    }
    if (config->program[0] == '\0' && count > 1)
        cfg_note_at(complaints, WEIR_OK, weir_yaml_get(weir_yaml_at(datasets, 0), "label"),
                    "datasets[0].label: all %" JSON_INTEGER_FORMAT " labels that were looked at "
                    "are that of %s: a model learns nothing from one label alone",
                    count, json_string_value(json_array_get(first, 2)));
}

void orchestrator_config_judge(const struct orchestrator_config *config, const json_t *labels,
                               struct cfg_complaints *complaints)
{
    for (size_t i = 0; i < json_array_size(labels); i++)
        judge(config, json_array_get(labels, i), complaints);
    if (complaints->status == WEIR_OK)
        judge_variety(config, labels, complaints);
}
