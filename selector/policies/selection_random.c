/* Each candidate with the same chance. */
#include "selector/policies/draw.h"
#include "selector/policies/policy.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    (void)options;
    size_t needed = input->target;
    for (size_t i = 0; i < input->count; i++)
        if (selector_draw(rng, input->count - i, &needed))
            output->chosen[output->count++] = i;
}

const struct selection_policy selection_random = {
    .name = "random",
    .summary = "every candidate with the same chance, without replacement",
    .options = OPTIONS,
    .choose = choose,
};
