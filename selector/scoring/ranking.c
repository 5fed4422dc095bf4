/* Sorting by score: see ranking.h. */
#include "selector/scoring/ranking.h"

#include "core/base/memory.h"

#include <stdlib.h>

struct ranked {
    double score;
    size_t position;
};

static int highest_first(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

void selector_scoring_take_highest(const double *scores, const struct scoring_input *input,
                                   struct scoring_choice *choice)
{
    WEIR_AUTO_FREE struct ranked *ranked = weir_calloc(input->count, sizeof(*ranked));
    for (size_t i = 0; i < input->count; i++)
        ranked[i] = (struct ranked){.score = scores[i], .position = i};
    qsort(ranked, input->count, sizeof(*ranked), highest_first);
    choice->count = input->target;
    for (size_t n = 0; n < input->target; n++) {
        choice->chosen[n] = ranked[n].position;
        choice->weights[n] = 1;
    }
}
