/* See extent.h. */
#include "orchestrator/config/extent.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* All that the datasets hold. */
struct extent {
    uint64_t samples;
    int64_t first_us, last_us;
};

/* False where there may be more, or nothing at all. */
static bool read_extent(const json_t *datasets, struct extent *ret_extent)
{
    struct extent extent = {.first_us = INT64_MAX, .last_us = INT64_MIN};
    size_t index;
    const json_t *dataset;

    json_array_foreach(datasets, index, dataset)
    {
        int64_t first = json_integer_value(json_object_get(dataset, "first"));
        int64_t last = json_integer_value(json_object_get(dataset, "last"));

        if (!json_is_true(json_object_get(dataset, "is_whole")) ||
            !json_is_true(json_object_get(dataset, "gives_samples")))
            return false;
        extent.samples += (uint64_t)json_integer_value(json_object_get(dataset, "samples"));
        extent.first_us = first < extent.first_us ? first : extent.first_us;
        extent.last_us = last > extent.last_us ? last : extent.last_us;
    }
    *ret_extent = extent;
    return extent.samples > 0;
}

static void judge_trigger(const struct orchestrator_config *config, const struct extent *extent,
                          struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(config->trigger, "samples");
    const char *policy = weir_yaml_text(weir_yaml_get(config->trigger, "policy"));
    const char *text = weir_yaml_text(node);

    if (text == NULL || !weir_str_equal(policy, "amount") ||
        strtoull(text, NULL, 10) <= extent->samples)
        return;
    cfg_note_at(complaints, WEIR_OK, node,
                "trigger.samples: found %s, and the datasets hold %llu samples: nothing will be "
                "trained",
                text, (unsigned long long)extent->samples);
}

/* A time of an evaluation that no sample reaches. */
static void judge_moment(const struct weir_yaml_node *evaluation, const char *key,
                         const struct extent *extent, struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(evaluation, key);
    const char *text = weir_yaml_text(node);
    char first[WEIR_TIME_TEXT_MAX], last[WEIR_TIME_TEXT_MAX];
    int64_t time_us;

    if (text == NULL || !weir_time_parse(text, strlen(text), &time_us))
        return;
    if (strcmp(key, "from") == 0 ? time_us <= extent->last_us : time_us > extent->first_us)
        return;
    weir_time_format(extent->first_us, first);
    weir_time_format(extent->last_us, last);
    cfg_note_at(complaints, WEIR_OK, node,
                "evaluation.%s: found %s, and samples are from %s to %s: nothing will be evaluated",
                key, text, first, last);
}

void orchestrator_extent_judge(const struct orchestrator_config *config, const json_t *datasets,
                               struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *root = weir_yaml_root(config->document);
    const struct weir_yaml_node *evaluations = weir_yaml_get(root, "evaluation");
    struct extent extent;

    if (!read_extent(datasets, &extent))
        return;
    judge_trigger(config, &extent, complaints);
    for (size_t i = 0; i < weir_yaml_length(evaluations); i++) {
        judge_moment(weir_yaml_at(evaluations, i), "from", &extent, complaints);
        judge_moment(weir_yaml_at(evaluations, i), "to", &extent, complaints);
    }
}
