/* Each candidate with the same chance. */
#include "selector/policies/draw.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    (void)options;
    selection_draw(input, input->target, rng, output);
}

const struct selection_policy selector_selection_random = {
    .name = "random",
    .summary = "every candidate with the same chance, without replacement",
    .options = OPTIONS,
    .choose = choose,
};
