/* Between a scoring method and the greedy ways: see optimizer.h. */
#include "selector/scoring/optimizer.h"

const char *const SELECTOR_OPTIMIZERS[] = {"naive", "lazy", "stochastic", "approximate", NULL};

bool selector_scoring_optimize(const struct optimizer *optimizer, const struct objective *objective,
                               const struct scoring_input *input, struct scoring_choice *choice)
{
    struct weir_rng rng;
    const struct greedy greedy = {
        .method = (enum greedy_method)optimizer->method,
        .epsilon = optimizer->epsilon,
        .rng = &rng,
        .progress = input->progress,
    };
    weir_rng_init(&rng, input->seed);
    choice->count = input->target;
    for (size_t n = 0; n < input->target; n++)
        choice->weights[n] = 1;
    return selector_scoring_maximize(&greedy, objective, input->target, choice->chosen);
}
