/* ndcg: the discounted cumulative gain of the first k of each group, as a share of the best
 * possible (Järvelin and Kekäläinen, Cumulated Gain-based Evaluation of IR Techniques, 2002), with
 * the label as the gain and log2 as the discount; ties are averaged (McSherry and Najork, 2008).
 * Groups of one sample, without a relevant one, or with a label below 0 have none. */
#include "orchestrator/metrics/grouped.h"

#include "core/base/elementary.h"
#include "core/base/memory.h"

#include <math.h>

struct ndcg {
    uint64_t k;
    int weigh;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct ndcg, k, .fallback = "10", .min = 1, .max = 1000000, .doc = "places that count"),
    GROUP_WEIGH_KEY(struct ndcg, weigh),
    CFG_END,
};

static const double LN2 = 0.69314718055994530942;

static double worth(size_t from, size_t to)
{
    double sum = 0;
    for (size_t place = from; place < to; place++)
        sum += LN2 / weir_ln((double)place + 2);
    return sum;
}

static bool value(const void *options, const struct metric_input *group, double *ret_value)
{
    const struct ndcg *own = options;
    WEIR_AUTO_FREE double *scores = weir_calloc(group->count, sizeof(*scores));
    double least = 0;
    for (size_t i = 0; i < group->count; i++) {
        scores[i] = (double)group->values[i];
        least = fmin(least, group->numbers[i]);
    }
    size_t k = (size_t)own->k;
    double best = orchestrator_group_gain(group, group->numbers, group->numbers, k, worth);
    *ret_value = orchestrator_group_gain(group, scores, group->numbers, k, worth) / best;
    return group->count > 1 && least >= 0 && best > 0;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    const struct ndcg *own = options;
    return orchestrator_group_measure(input, (enum group_weigh)own->weigh, value, own, ret_value);
}

const struct metric orchestrator_metric_ndcg = {
    .name = "ndcg",
    .summary =
        "normalised discounted cumulative gain of the first k of each group (training.group), averaged; "
        "groups of one sample or with nothing relevant are left out",
    .options = OPTIONS,
    .options_size = sizeof(struct ndcg),
    .higher_is_better = true,
    .of_groups = true,
    .measure = measure,
};
