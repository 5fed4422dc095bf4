/* See labels.h. */
#include "orchestrator/config/labels.h"

#include <math.h>
#include <string.h>

/* The first label that is the number of no class; NULL: there is none. */
static const json_t *first_number(const json_t *dataset)
{
    const json_t *seen = json_object_get(dataset, "seen");

    for (size_t i = 0; i < json_array_size(seen); i++) {
        double label = json_number_value(json_array_get(json_array_get(seen, i), 0));

        if (label != floor(label) || label < 0)
            return json_array_get(seen, i);
    }
    return NULL;
}

static void judge_evaluation(const struct orchestrator_config *config, size_t index,
                             const char *dataset, const json_t *number,
                             struct cfg_complaints *complaints)
{
    const struct orchestrator_evaluation *evaluation = &config->evaluations[index];
    const struct weir_yaml_node *list =
        weir_yaml_get(weir_yaml_root(config->document), "evaluation");
    const struct weir_yaml_node *metrics = weir_yaml_get(weir_yaml_at(list, index), "metrics");

    for (size_t m = 0; m < evaluation->metric_count; m++) {
        if (orchestrator_metric_of(evaluation->metrics[m])->of_vectors)
            continue;
        cfg_note_at(complaints, WEIR_INVALID, weir_yaml_at(metrics, m),
                    "evaluation.metrics: found %s, which compares classes, and labels of dataset "
                    "'%s' are numbers, %g for example (%s): expected metrics of numbers, mse, "
                    "rmse, mae, mape or r2",
                    orchestrator_metric_label(evaluation->metrics[m]), dataset,
                    json_number_value(json_array_get(number, 0)),
                    json_string_value(json_array_get(number, 2)));
    }
}

void orchestrator_config_judge(const struct orchestrator_config *config, const json_t *labels,
                               struct cfg_complaints *complaints)
{
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const json_t *dataset = json_array_get(labels, i);
        const json_t *number = first_number(dataset);

        for (size_t e = 0; number != NULL && e < config->evaluation_count; e++)
            judge_evaluation(config, e, json_string_value(json_object_get(dataset, "dataset")),
                             number, complaints);
    }
}
