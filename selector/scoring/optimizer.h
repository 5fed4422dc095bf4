/* The options of every method that maximises a submodular function, and doing it. */
#ifndef SELECTOR_SCORING_OPTIMIZER_H
#define SELECTOR_SCORING_OPTIMIZER_H

#include "selector/scoring/greedy.h"
#include "selector/scoring/scoring.h"

struct optimizer {
    int method; /* enum greedy_method */
    double epsilon;
};

/* NULL-terminated names in the order of enum greedy_method. */
extern const char *const SELECTOR_OPTIMIZERS[];

/* Two rows of a key table. */
// clang-format off
#define OPTIMIZER_KEYS(owner, member)                                                             \
    CFG_KEY_AS("optimizer", CFG_KIND_CHOICE, int, owner, member.method, .choices = SELECTOR_OPTIMIZERS,    \
               .fallback = "lazy",                                                                \
               .doc = "lazy chooses as naive does; approximate is content with what is near "     \
                      "enough; stochastic looks at a random part each time"),                     \
    CFG_KEY_AS("epsilon", CFG_KIND_F64, double, owner, member.epsilon, .fallback = "0.01",        \
               .min = 1e-6, .max = 0.9,                                                           \
               .doc = "of approximate and stochastic: how far below greedy they may fall")
// clang-format on

/* Chooses input->target candidates, in the order of greedy, each with weight 1. False: given up. */
bool selector_scoring_optimize(const struct optimizer *optimizer, const struct objective *objective,
                               const struct scoring_input *input, struct scoring_choice *choice);

#endif
