/* Drawing without replacement, for policies. */
#ifndef SELECTOR_POLICIES_DRAW_H
#define SELECTOR_POLICIES_DRAW_H

#include "core/base/rng.h"

#include <stdbool.h>

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

#endif
