/* Maximising facility location over the candidates: see cover.h. */
#include "selector/scoring/cover.h"

const char *const COVER_OPTIMIZERS[] = {"naive", "lazy", "stochastic", "approximate", NULL};

bool scoring_cover(const struct cover *options, const struct cover_rule *rule,
                   const struct scoring_input *input, struct scoring_choice *choice)
{
    struct vectors vectors;
    struct facility facility;
    struct weir_rng rng;
    weir_rng_init(&rng, input->seed);
    scoring_vectors_init(&vectors, input->values, input->count, input->width,
                         rule->similarity == FACILITY_COSINE ? VECTORS_UNIT_LENGTH
                                                             : VECTORS_AS_THEY_ARE);
    scoring_facility_init(&facility, &vectors, rule->similarity);
    const struct objective objective = scoring_facility_objective(&facility);
    const struct greedy greedy = {
        .method = (enum greedy_method)options->optimizer,
        .epsilon = options->epsilon,
        .rng = &rng,
        .progress = input->progress,
    };
    bool is_done = scoring_maximize(&greedy, &objective, input->target, choice->chosen);
    for (size_t n = 0; n < input->target; n++)
        choice->weights[n] = 1;
    choice->count = input->target;
    if (rule->by_size && is_done)
        scoring_facility_sizes(&facility, choice->chosen, input->target, choice->weights);
    scoring_facility_fini(&facility);
    scoring_vectors_fini(&vectors);
    return is_done;
}
