/* roc_auc, pr_auc: how well one class is ranked above the rest. With more than two classes, the mean over the classes
 * that can be distinguished from the rest; undefined when only one class is there. */
#include "core/base/memory.h"
#include "core/loop/work_sort.h"
#include "orchestrator/metrics/metric.h"

#include <stdlib.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

/* Samples of equal score are one step. */
struct rank_step {
    size_t positives, negatives;             /* in this step */
    size_t positives_above, negatives_above; /* in the steps before, whose scores are higher */
};

/* The area that a step adds, given the positives and negatives of all steps. */
typedef double area_fn(const struct rank_step *step, size_t positives, size_t negatives);

/* ---- walking down the scores ---- */

struct scored {
    float score;
    bool positive;
};

static int by_falling_score(const void *a, const void *b)
{
    float left = ((const struct scored *)a)->score;
    float right = ((const struct scored *)b)->score;
    return (left < right) - (left > right);
}

static double walk(const struct scored *sorted, size_t count, size_t positives, area_fn *area)
{
    double sum = 0;
    struct rank_step step = {0};
    for (size_t from = 0, to = 0; from < count; from = to) {
        step.positives = 0;
        for (to = from; to < count && sorted[to].score == sorted[from].score; to++)
            step.positives += sorted[to].positive;
        step.negatives = to - from - step.positives;
        sum += area(&step, positives, count - positives);
        step.positives_above += step.positives;
        step.negatives_above += step.negatives;
    }
    return sum;
}

/* One class against the rest; `column` holds its scores. */
static bool score_class(const struct metric_input *input, struct scored *room, int64_t label,
                        size_t column, size_t *ret_positives)
{
    size_t positives = 0;
    for (size_t i = 0; i < input->count; i++) {
        room[i].score = input->values[i * input->width + column];
        room[i].positive = input->labels[i] == label;
        positives += room[i].positive;
        if (room[i].score != room[i].score) /* not a number ranks nowhere */
            return false;
    }
    *ret_positives = positives;
    return positives > 0 && positives < input->count;
}

static bool measure(const struct metric_input *input, area_fn *area, double *ret_value)
{
    WEIR_AUTO_FREE struct scored *room = weir_calloc(input->count, sizeof(*room));
    bool two_way = input->width <= 2;
    double total = 0;
    size_t defined = 0, columns = two_way ? 1 : input->width;
    for (size_t i = 0; i < columns && weir_work_goes_on(input->work, 0, 0); i++) {
        size_t positives = 0;
        if (!score_class(input, room, two_way ? 1 : (int64_t)i, two_way ? input->width - 1 : i,
                         &positives))
            continue;
        if (!weir_work_sort(input->work, room, input->count, sizeof(*room), by_falling_score))
            return false;
        total += walk(room, input->count, positives, area);
        defined++;
    }
    if (defined == 0)
        return false;
    *ret_value = total / (double)defined;
    return true;
}

/* ---- areas ---- */

/* Mann and Whitney: the chance that a positive sample is ranked above a negative one, exactly; ties count half. */
static double roc_auc(const struct rank_step *step, size_t positives, size_t negatives)
{
    double above = (double)step->positives_above + (double)step->positives / 2;

    return above * (double)step->negatives / ((double)positives * (double)negatives);
}

/* Average precision: precision times what recall gains at each step. No straight lines are drawn between the steps,
 * which would flatter (Davis & Goadrich 2006). */
static double pr_auc(const struct rank_step *step, size_t positives, size_t negatives)
{
    double found = (double)(step->positives_above + step->positives);
    double all = found + (double)(step->negatives_above + step->negatives);

    (void)negatives;
    return found / all * (double)step->positives / (double)positives;
}

#define RANKED(name_, summary_)                                                     \
    static bool measure_##name_(const void *options, const struct metric_input *in, \
                                double *ret_value)                                  \
    {                                                                               \
        (void)options;                                                              \
        return measure(in, name_, ret_value);                                       \
    }                                                                               \
    const struct metric orchestrator_metric_##name_ = {                             \
        .name = #name_,                                                             \
        .summary = summary_,                                                        \
        .options = OPTIONS,                                                         \
        .options_size = 1,                                                          \
        .higher_is_better = true,                                                   \
        .measure = measure_##name_,                                                 \
    };

RANKED(roc_auc, "chance that a positive sample is ranked above a negative one, ties count half")
RANKED(pr_auc, "area under precision over recall (average precision), equal scores are one step")
