/* pr_auc: average precision, the sum over the steps of equal scores of precision times what recall gains there: no
 * straight lines are drawn between them, which would flatter (Davis & Goadrich 2006). Classes as for roc_auc. */
#include "orchestrator/metrics/ranked.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static double area(const struct rank_step *step, size_t positives, size_t negatives)
{
    double found = (double)(step->positives_above + step->positives);
    double all = found + (double)(step->negatives_above + step->negatives);
    (void)negatives;
    return found / all * (double)step->positives / (double)positives;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    return orchestrator_rank_measure(input, area, ret_value);
}

const struct metric metric_pr_auc = {
    .name = "pr_auc",
    .summary = "area under precision over recall (average precision), equal scores are one step",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = true,
    .measure = measure,
};
