/* Shared by metrics of a ranking within groups: samples are ranked against those of their own
 * group (a user's clicks), and the groups' values are averaged. A label above 0 is relevant. Groups
 * without a value (see each metric) are left out. */
#ifndef ORCHESTRATOR_METRICS_GROUPED_H
#define ORCHESTRATOR_METRICS_GROUPED_H

#include "orchestrator/metrics/metric.h"

enum group_weigh { WEIGH_GROUPS, WEIGH_SAMPLES };
extern const char *const ORCHESTRATOR_GROUP_WEIGHS[];

// clang-format off
#define GROUP_WEIGH_KEY(owner, member)                                                            \
    CFG_KEY_AS("weigh", CFG_KIND_CHOICE, int, owner, member, .fallback = "groups",                \
               .choices = ORCHESTRATOR_GROUP_WEIGHS,                                                           \
               .doc = "groups count alike, or by their samples")
// clang-format on

/* The value of one group: `values` (width 1) rank it, `numbers` say how relevant each sample is, `labels` whether
 * it is. */
typedef bool group_value_fn(const void *options, const struct metric_input *group,
                            double *ret_value);
/* False: no group has a value, a score is no number, or the model says more than one number and not two classes. */
bool orchestrator_group_measure(const struct metric_input *input, enum group_weigh weigh,
                                group_value_fn *value, const void *options, double *ret_value);

/* The sum of what the samples of `group` are worth at their places in the order of `scores`,
 * highest first: `gains` times what the place (from 0) is worth, up to place `k`. Of samples of
 * equal score each is at each of their places alike, which is the mean over all ways to break the
 * tie. `worth` says what the places from `from` up to `to` are worth together. 0 once
 * its work is given up. */
typedef double group_worth_fn(size_t from, size_t to);
double orchestrator_group_gain(const struct metric_input *group, const double *scores,
                               const double *gains, size_t k, group_worth_fn *worth);

#endif
