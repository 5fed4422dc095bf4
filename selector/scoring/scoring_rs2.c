/* Repeated random subsets: every epoch trains on another random part of the set (Okanovic et al., Repeated
 * Random Sampling for Minimizing the Time-to-Accuracy of Learning, ICLR 2024). Without replacement the set
 * is shuffled once and walked in disjoint parts; when what is left is less than a part, it is shuffled
 * again. */
#include "selector/scoring/scoring.h"

#include "core/base/memory.h"

#include <stdlib.h>

struct rs2 {
    bool with_replacement;
};

static const struct cfg_key OPTIONS[] = {
    CFG_BOOL(struct rs2, with_replacement, .fallback = "false",
             .doc = "true: a sample may come again before all others have been there"),
    CFG_END,
};

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    const struct rs2 *own = options;
    size_t parts = own->with_replacement ? 1 : input->count / input->target;
    size_t first = input->part % parts * input->target;
    WEIR_AUTO_FREE size_t *order = weir_calloc(input->count, sizeof(*order));
    struct weir_rng rng;
    weir_rng_init(&rng, weir_mix64(input->seed + input->part / parts));
    for (size_t i = 0; i < input->count; i++)
        order[i] = i;
    for (size_t i = 0; i < first + input->target; i++) {
        size_t other = i + weir_rng_below(&rng, input->count - i);
        size_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (size_t n = 0; n < input->target; n++) {
        choice->chosen[n] = order[first + n];
        choice->weights[n] = 1;
    }
    choice->count = input->target;
    return true;
}

const struct scoring_method selector_scoring_rs2 = {
    .name = "rs2",
    .summary = "another random part for every epoch",
    .options = OPTIONS,
    .options_size = sizeof(struct rs2),
    .wants = SCORING_WANTS_NOTHING,
    .draws_again = true,
    .choose = choose,
};
