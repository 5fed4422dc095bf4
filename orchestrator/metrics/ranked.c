/* Sorting by score and walking down: see ranked.h. */
#include "orchestrator/metrics/ranked.h"

#include "core/base/memory.h"

#include <stdlib.h>

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

static double walk(const struct scored *sorted, size_t count, size_t positives, rank_area_fn *area)
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

bool orchestrator_rank_measure(const struct metric_input *input, rank_area_fn *area,
                               double *ret_value)
{
    WEIR_AUTO_FREE struct scored *room = weir_calloc(input->count, sizeof *room);
    bool two_way = input->width <= 2;
    double total = 0;
    size_t defined = 0;
    for (size_t i = 0; i < (two_way ? 1 : input->width); i++) {
        size_t positives = 0;
        if (!score_class(input, room, two_way ? 1 : (int64_t)i, two_way ? input->width - 1 : i,
                         &positives))
            continue;
        qsort(room, input->count, sizeof *room, by_falling_score);
        total += walk(room, input->count, positives, area);
        defined++;
    }
    if (defined == 0)
        return false;
    *ret_value = total / (double)defined;
    return true;
}
