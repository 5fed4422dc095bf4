/* Group by group, and place by place: see grouped.h. */
#include "orchestrator/metrics/grouped.h"

#include "core/base/memory.h"
#include "core/loop/work_sort.h"

#include <math.h>
#include <stdlib.h>

const char *const ORCHESTRATOR_GROUP_WEIGHS[] = {"groups", "samples", NULL};

struct member {
    int64_t group;
    float score;
    double relevance;
};

static int by_group(const void *a, const void *b)
{
    int64_t left = ((const struct member *)a)->group;
    int64_t right = ((const struct member *)b)->group;
    return (left > right) - (left < right);
}

static bool list_members(const struct metric_input *input, struct member *members)
{
    if (input->width > 2 || input->label_width > 1)
        return false;
    for (size_t i = 0; i < input->count; i++) {
        members[i] = (struct member){
            .group = input->groups == NULL ? 0 : input->groups[i],
            .score = input->values[i * input->width + input->width - 1],
            .relevance = input->numbers == NULL ? (double)input->labels[i] : input->numbers[i],
        };
        if (isnan(members[i].score) || isnan(members[i].relevance))
            return false;
    }
    return weir_work_sort(input->work, members, input->count, sizeof(*members), by_group);
}

/* The same in columns, as a group_value_fn has them. */
struct columns {
    float *scores;
    int64_t *labels;
    double *numbers;
};

static struct metric_input cut(const struct columns *columns, size_t from, size_t count,
                               struct weir_work *work)
{
    return (struct metric_input){.values = columns->scores + from,
                                 .labels = columns->labels + from,
                                 .count = count,
                                 .width = 1,
                                 .numbers = columns->numbers + from,
                                 .label_width = 1,
                                 .work = work};
}

bool orchestrator_group_measure(const struct metric_input *input, enum group_weigh weigh,
                                group_value_fn *value, const void *options, double *ret_value)
{
    WEIR_AUTO_FREE struct member *members = weir_calloc(input->count, sizeof(*members));
    WEIR_AUTO_FREE float *scores = weir_calloc(input->count, sizeof(*scores));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(input->count, sizeof(*labels));
    WEIR_AUTO_FREE double *numbers = weir_calloc(input->count, sizeof(*numbers));
    const struct columns columns = {scores, labels, numbers};
    double sum = 0, weights = 0;
    if (!list_members(input, members))
        return false;
    for (size_t from = 0, to = 0; from < input->count && weir_work_goes_on(input->work, 0, 0);
         from = to) {
        for (; to < input->count && members[to].group == members[from].group; to++) {
            scores[to] = members[to].score;
            labels[to] = members[to].relevance > 0;
            numbers[to] = members[to].relevance;
        }
        struct metric_input group = cut(&columns, from, to - from, input->work);
        double found, weight = weigh == WEIGH_GROUPS ? 1 : (double)group.count;
        if (!value(options, &group, &found))
            continue;
        sum += weight * found;
        weights += weight;
    }
    *ret_value = sum / weights;
    return weights > 0;
}

/* ---- places ---- */

struct placed {
    double score, gain;
};

static int by_falling_score(const void *a, const void *b)
{
    double left = ((const struct placed *)a)->score;
    double right = ((const struct placed *)b)->score;
    return (left < right) - (left > right);
}

double orchestrator_group_gain(const struct metric_input *group, const double *scores,
                               const double *gains, size_t k, group_worth_fn *worth)
{
    size_t count = group->count;
    WEIR_AUTO_FREE struct placed *placed = weir_calloc(count, sizeof(*placed));
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){scores[i], gains[i]};
    if (!weir_work_sort(group->work, placed, count, sizeof(*placed), by_falling_score))
        return 0;
    for (size_t from = 0, to = 0; from < count && from < k; from = to) {
        double gain = 0;
        for (; to < count && placed[to].score == placed[from].score; to++)
            gain += placed[to].gain;
        sum += gain / (double)(to - from) * worth(from, to < k ? to : k);
    }
    return sum;
}
