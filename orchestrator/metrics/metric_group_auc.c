/* group_auc: the area under the ROC curve within each group, averaged (Zhu et al., Optimized Cost
 * per Click in Taobao Display Advertising, KDD 2017, as "GAUC"). Groups of one class have none. */
#include "orchestrator/metrics/grouped.h"

struct group_auc {
    int weigh;
};

static const struct cfg_key OPTIONS[] = {GROUP_WEIGH_KEY(struct group_auc, weigh), CFG_END};

static bool value(const void *options, const struct metric_input *group, double *ret_value)
{
    (void)options;
    return orchestrator_metric_find("roc_auc")->measure(NULL, group, ret_value);
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    const struct group_auc *own = options;
    return orchestrator_group_measure(input, (enum group_weigh)own->weigh, value, own, ret_value);
}

const struct metric orchestrator_metric_group_auc = {
    .name = "group_auc",
    .summary =
        "roc_auc within each group (training.group), averaged; groups of one class are left out",
    .options = OPTIONS,
    .options_size = sizeof(struct group_auc),
    .higher_is_better = true,
    .of_groups = true,
    .measure = measure,
};
