/* roc_auc: the chance that a positive sample is ranked above a negative one, exactly: the rank sum
 * of the positives with tied scores sharing their mean rank (Mann and Whitney). With more than two
 * classes, the mean over the classes that can be told from the rest. Undefined when only one class
 * is there. */
#include "orchestrator/metrics/metric.h"

#include "core/base/memory.h"

#include <stdlib.h>

struct scored {
    float score;
    bool positive;
};

static int by_score(const void *a, const void *b)
{
    float left = ((const struct scored *)a)->score;
    float right = ((const struct scored *)b)->score;
    return (left > right) - (left < right);
}

/* Twice the rank sum of the positives: an integer even when ranks are shared. */
static double doubled_rank_sum(const struct scored *sorted, size_t count)
{
    double sum = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        size_t positives = 0;
        for (to = from; to < count && sorted[to].score == sorted[from].score; to++)
            positives += sorted[to].positive;
        sum +=
            (double)positives * (double)(from + 1 + to); /* ranks from + 1 … to, twice their mean */
    }
    return sum;
}

/* One class against the rest; `column` holds its scores. */
static bool measure_class(const struct metric_input *input, struct scored *room,
                          int64_t class_index, size_t column, double *ret_value)
{
    size_t positives = 0;
    for (size_t i = 0; i < input->count; i++) {
        room[i].score = input->values[i * input->width + column];
        room[i].positive = input->labels[i] == class_index;
        positives += room[i].positive;
        if (room[i].score != room[i].score) /* not a number ranks nowhere */
            return false;
    }
    size_t negatives = input->count - positives;
    if (positives == 0 || negatives == 0)
        return false;
    qsort(room, input->count, sizeof *room, by_score);
    double sum = doubled_rank_sum(room, input->count) / 2;
    double least = (double)positives * ((double)positives + 1) / 2;
    *ret_value = (sum - least) / ((double)positives * (double)negatives);
    return true;
}

static bool measure(const struct metric_input *input, double *ret_value)
{
    if (input->count == 0 || input->width == 0)
        return false;
    struct scored *room = weir_calloc(input->count, sizeof *room);
    double total = 0;
    size_t defined = 0;
    size_t classes = input->width <= 2 ? 1 : input->width;
    for (size_t i = 0; i < classes; i++) {
        double value = 0;
        bool two_way = input->width <= 2;
        if (measure_class(input, room, two_way ? 1 : (int64_t)i, two_way ? input->width - 1 : i,
                          &value)) {
            total += value;
            defined++;
        }
    }
    free(room);
    if (defined == 0)
        return false;
    *ret_value = total / (double)defined;
    return true;
}

const struct metric metric_roc_auc = {
    .name = "roc_auc",
    .summary = "chance that a positive sample is ranked above a negative one, ties count half",
    .higher_is_better = true,
    .measure = measure,
};
