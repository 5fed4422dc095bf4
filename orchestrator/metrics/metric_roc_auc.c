/* roc_auc: the chance that a positive sample is ranked above a negative one, exactly: ties count
 * half (Mann and Whitney). With more than two classes, the mean over the classes that can be told
 * from the rest. Undefined when only one class is there. */
#include "orchestrator/metrics/ranked.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static double area(const struct rank_step *step, size_t positives, size_t negatives)
{
    double above = (double)step->positives_above + (double)step->positives / 2;
    return above * (double)step->negatives / ((double)positives * (double)negatives);
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    return orchestrator_rank_measure(input, area, ret_value);
}

const struct metric metric_roc_auc = {
    .name = "roc_auc",
    .summary = "chance that a positive sample is ranked above a negative one, ties count half",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = true,
    .measure = measure,
};
