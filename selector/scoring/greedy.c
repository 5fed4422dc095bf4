/* The four ways to be greedy: see greedy.h. */
#include "selector/scoring/greedy.h"

#include "core/base/elementary.h"
#include "core/base/heap.h"
#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { GAINS_AT_ONCE = 64, LAZY_AT_ONCE = 4 };

struct bound {
    double gain;
    size_t element;
    size_t round; /* number that was chosen when the gain was computed */
};

static bool is_better(const void *a, const void *b, const void *owner)
{
    const struct bound *x = a, *y = b;
    (void)owner;
    return x->gain > y->gain || (x->gain >= y->gain && x->element < y->element);
}

static const struct weir_heap_order BY_GAIN = {.element_bytes = sizeof(struct bound),
                                               .is_before = is_better};

/* One choice of many. It may take minutes, so whether it is still wanted is asked within it too. */
struct step {
    const struct greedy *greedy;
    const struct objective *objective;
    size_t done, total;
};

static bool goes_on(const struct step *step)
{
    return scoring_goes_on(&step->greedy->progress, step->done, step->total);
}

/* ---- all gains, or those of a sample ---- */

/* False: given up. */
static bool find_best(const struct step *step, const size_t *candidates, size_t count,
                      struct bound *ret_best)
{
    const struct objective *objective = step->objective;
    struct bound best = {.gain = -INFINITY};
    double gains[GAINS_AT_ONCE];
    for (size_t at = 0; at < count; at += GAINS_AT_ONCE) {
        size_t some = count - at < GAINS_AT_ONCE ? count - at : GAINS_AT_ONCE;
        if (!goes_on(step))
            return false;
        objective->gains(objective->state, candidates + at, some, gains);
        for (size_t i = 0; i < some; i++) {
            struct bound bound = {.gain = gains[i], .element = candidates[at + i]};
            if (is_better(&bound, &best, NULL))
                best = bound;
        }
    }
    *ret_best = best;
    return true;
}

/* Brings `wanted` random elements of `left` to its front. */
static void shuffle_front(size_t *left, size_t count, size_t wanted, struct weir_rng *rng)
{
    for (size_t i = 0; i < wanted; i++) {
        size_t other = i + weir_rng_below(rng, count - i);
        size_t swapped = left[i];
        left[i] = left[other];
        left[other] = swapped;
    }
}

static size_t sample_size(const struct greedy *greedy, size_t count, size_t target)
{
    return (size_t)ceil((double)count / (double)target * -weir_ln(greedy->epsilon));
}

static bool choose_step_by_step(const struct greedy *greedy, const struct objective *objective,
                                size_t target, size_t *ret_chosen)
{
    size_t count = objective->count;
    size_t sample =
        greedy->method == GREEDY_STOCHASTIC ? sample_size(greedy, count, target) : SIZE_MAX;
    WEIR_AUTO_FREE size_t *left = weir_calloc(count, sizeof(*left));
    for (size_t i = 0; i < count; i++)
        left[i] = i;
    for (size_t n = 0; n < target; n++) {
        const struct step step = {greedy, objective, n, target};
        struct bound best;
        size_t some = sample < count ? sample : count;
        if (some < count)
            shuffle_front(left, count, some, greedy->rng);
        if (!find_best(&step, left, some, &best))
            return false;
        ret_chosen[n] = best.element;
        objective->add(objective->state, ret_chosen[n]);
        size_t at = 0;
        while (left[at] != ret_chosen[n])
            at++;
        left[at] = left[--count];
    }
    return true;
}

/* ---- lazily: a heap of upper bounds ---- */

static struct bound pop(struct bound *heap, size_t *count)
{
    struct bound top = heap[0];
    heap[0] = heap[--*count];
    weir_heap_sink(&BY_GAIN, heap, *count, 0, NULL);
    return top;
}

static void push(struct bound *heap, size_t *count, struct bound bound)
{
    heap[*count] = bound;
    weir_heap_rise(&BY_GAIN, heap, (*count)++, NULL);
}

static bool first_bounds(const struct greedy *greedy, const struct objective *objective,
                         size_t steps, struct bound *heap)
{
    size_t elements[GAINS_AT_ONCE];
    double gains[GAINS_AT_ONCE];
    for (size_t at = 0; at < objective->count; at += GAINS_AT_ONCE) {
        size_t some = objective->count - at < GAINS_AT_ONCE ? objective->count - at : GAINS_AT_ONCE;
        if (!scoring_goes_on(&greedy->progress, at, steps))
            return false;
        for (size_t i = 0; i < some; i++)
            elements[i] = at + i;
        objective->gains(objective->state, elements, some, gains);
        for (size_t i = 0; i < some; i++)
            heap[at + i] = (struct bound){.gain = gains[i], .element = at + i};
    }
    weir_heap_make(&BY_GAIN, heap, objective->count, NULL);
    return true;
}

/* Computes the gains of the top `wanted` <= GAINS_AT_ONCE again. True: the best of them is enough, and no longer in the
 * heap. */
static bool refresh(const struct objective *objective, struct bound *heap, size_t *count,
                    size_t wanted, double enough, struct bound *best)
{
    size_t elements[GAINS_AT_ONCE] = {0};
    double gains[GAINS_AT_ONCE];
    size_t some = 0, first = 0, round = best->round;
    while (*count > 0 && some < wanted && heap[0].round < round)
        elements[some++] = pop(heap, count).element;
    objective->gains(objective->state, elements, some, gains);
    for (size_t i = 1; i < some; i++)
        if (gains[i] > gains[first] || (gains[i] >= gains[first] && elements[i] < elements[first]))
            first = i;
    *best = (struct bound){gains[first], elements[first], round};
    for (size_t i = 0; i < some; i++)
        if (i != first || gains[first] < enough)
            push(heap, count, (struct bound){gains[i], elements[i], round});
    return gains[first] >= enough;
}

/* The element of the highest gain, or of one that is near enough to the highest bound. The longer that takes, the more
 * bounds are computed at once, which is cheaper for each; how many decides nothing, but in the approximate way, which
 * takes the first that will do. False: given up. */
static bool take_best(const struct step *step, struct bound *heap, size_t *count, size_t round,
                      size_t *ret_element)
{
    const struct greedy *greedy = step->greedy;
    double share = greedy->method == GREEDY_APPROXIMATE ? 1 - greedy->epsilon : 1;
    struct bound best = {.round = round};
    size_t wanted = LAZY_AT_ONCE;
    bool found = false;
    while (!found && heap[0].round < round) {
        if (!goes_on(step))
            return false;
        found = refresh(step->objective, heap, count, wanted, heap[0].gain * share, &best);
        if (greedy->method == GREEDY_LAZY && wanted < GAINS_AT_ONCE)
            wanted *= 2;
    }
    *ret_element = found ? best.element : pop(heap, count).element;
    return true;
}

static bool choose_lazily(const struct greedy *greedy, const struct objective *objective,
                          size_t target, size_t *ret_chosen)
{
    size_t count = objective->count, steps = count + target;
    WEIR_AUTO_FREE struct bound *heap = weir_calloc(count, sizeof(*heap));
    if (!first_bounds(greedy, objective, steps, heap))
        return false;
    for (size_t n = 0; n < target; n++) {
        const struct step step = {greedy, objective, objective->count + n, steps};
        if (!goes_on(&step) || !take_best(&step, heap, &count, n, &ret_chosen[n]))
            return false;
        objective->add(objective->state, ret_chosen[n]);
    }
    return true;
}

bool selector_scoring_maximize(const struct greedy *greedy, const struct objective *objective,
                               size_t target, size_t *ret_chosen)
{
    if (greedy->method == GREEDY_LAZY || greedy->method == GREEDY_APPROXIMATE)
        return target == 0 || choose_lazily(greedy, objective, target, ret_chosen);
    return choose_step_by_step(greedy, objective, target, ret_chosen);
}
