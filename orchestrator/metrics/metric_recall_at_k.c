/* recall_at_k: of the relevant samples of each group, the share that is among the first k; of a tie
 * that k cuts, what a random order would have. Groups of one sample, or without a relevant one,
 * have none. */
#include "orchestrator/metrics/grouped.h"

#include "core/base/memory.h"

struct recall_at_k {
    uint64_t k;
    int weigh;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct recall_at_k, k, .fallback = "10", .min = 1, .max = 1000000,
            .doc = "places that count"),
    GROUP_WEIGH_KEY(struct recall_at_k, weigh),
    CFG_END,
};

static double worth(size_t from, size_t to)
{
    return (double)(to - from);
}

static bool value(const void *options, const struct metric_input *group, double *ret_value)
{
    const struct recall_at_k *own = options;
    WEIR_AUTO_FREE double *scores = weir_calloc(group->count, sizeof(*scores));
    WEIR_AUTO_FREE double *relevant = weir_calloc(group->count, sizeof(*relevant));
    double all = 0;
    for (size_t i = 0; i < group->count; i++) {
        scores[i] = (double)group->values[i];
        relevant[i] = group->labels[i] != 0;
        all += relevant[i];
    }
    *ret_value = orchestrator_group_gain(group, scores, relevant, (size_t)own->k, worth) / all;
    return group->count > 1 && all > 0;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    const struct recall_at_k *own = options;
    return orchestrator_group_measure(input, (enum group_weigh)own->weigh, value, own, ret_value);
}

const struct metric orchestrator_metric_recall_at_k = {
    .name = "recall_at_k",
    .summary =
        "share of the relevant samples (label above 0) among the first k of each group (training.group), averaged; "
        "groups of one sample or with nothing relevant are left out",
    .options = OPTIONS,
    .options_size = sizeof(struct recall_at_k),
    .higher_is_better = true,
    .of_groups = true,
    .measure = measure,
};
