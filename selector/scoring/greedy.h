/* Greedy maximisation of a monotone submodular function under a budget: the classic (1 - 1/e)
 * approximation of Nemhauser, Wolsey & Fisher (1978), and three faster forms of it. */
#ifndef SELECTOR_SCORING_GREEDY_H
#define SELECTOR_SCORING_GREEDY_H

#include "core/base/rng.h"
#include "selector/scoring/progress.h"

#include <stddef.h>

/* A set function being maximised, and the set chosen so far. Elements are 0 … count - 1. */
struct objective {
    void *state;
    size_t count;
    /* Computes the gain of each of the candidates, none of them chosen yet. A gain must never grow while
     * the set does, to the last bit. Asked for several at once because that is cheaper. */
    void (*gains)(void *state, const size_t *candidates, size_t count, double *ret_gains);
    void (*add)(void *state, size_t chosen);
};

enum greedy_method {
    GREEDY_NAIVE,      /* every gain, every time */
    GREEDY_LAZY,       /* the same choice: an old gain is an upper bound (Minoux 1978) */
    GREEDY_STOCHASTIC, /* the best of a random sample: (1 - 1/e - ε) in expectation, with count ·
                          ln(1/ε) gains altogether (Mirzasoleiman et al., AAAI 2015, algorithm 1) */
    GREEDY_APPROXIMATE, /* lazy, but content with (1 - ε) of the highest bound: 1 - e^(ε - 1) (Wei, Iyer &
                           Bilmes, Fast Multi-Stage Submodular Maximization, ICML 2014, §3) */
};

struct greedy {
    enum greedy_method method;
    double epsilon; /* of STOCHASTIC and APPROXIMATE, in (0, 1) */
    struct weir_rng *rng;
    struct progress progress;
};

/* Writes `target` <= count elements in the order in which they were chosen. Of equal gains the lower
 * element wins. False: given up. */
bool selector_scoring_maximize(const struct greedy *greedy, const struct objective *objective,
                               size_t target, size_t *ret_chosen);

#endif
