/* Drawing without replacement, for policies. */
#ifndef SELECTOR_POLICIES_DRAW_H
#define SELECTOR_POLICIES_DRAW_H

#include "selector/policies/policy.h"

/* Offered `left` items one after the other, of which `*needed` are to be taken, says whether to take
 * the next one and counts it. Every subset of that size is equally likely, and exactly that many are
 * taken (selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S). */
static inline bool selector_draw(struct weir_rng *rng, size_t left, size_t *needed)
{
    if (*needed == 0 || weir_rng_below(rng, left) >= *needed)
        return false;
    (*needed)--;
    return true;
}

/* Takes `needed` of all candidates; to take all of them nothing is drawn. */
static inline void selection_draw(const struct selection_input *input, size_t needed,
                                  struct weir_rng *rng, struct selection_output *output)
{
    bool all = needed == input->count;
    for (size_t i = 0; all && i < needed; i++)
        selection_take(output, i);
    if (all)
        return;
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count && needed > 0; i++)
        if (selector_draw(rng, input->count - run.first - i, &needed))
            selection_take(output, run.first + i);
}

#endif
