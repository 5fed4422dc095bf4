/* Random, but across triggers no sample comes again until all have come.
 *
 * Candidates not drawn in this epoch are drawn first. When fewer of them are left than wanted, all of
 * them are taken, and the rest is the beginning of the next epoch, drawn from the others. Within an
 * epoch every sample is drawn once; samples that arrive later join the epoch that runs. Where an epoch
 * began can be read off the sealed sets (history.h), so a restart goes on in the middle of one. */
#include "selector/policies/sides.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    (void)options;
    struct selection_sides sides;
    selector_sides_count(&sides, input, SELECTION_DRAWN);
    size_t first = sides.sizes[0] < input->target ? sides.sizes[0] : input->target;
    size_t needed[2] = {first, input->target - first};
    selector_sides_draw(&sides, input, needed, rng, output);
}

const struct selection_policy selector_selection_random_without_replacement = {
    .name = "random_without_replacement",
    .summary = "at random, but no sample again, across triggers, until all were drawn",
    .options = OPTIONS,
    .needs = SELECTION_NEEDS_PAST,
    .choose = choose,
};
