/* A uniform sample of fixed size of all that ever came, which changes as little as it can.
 *
 * Every sample has a priority, a hash of its id keyed by seed and pipeline; the reservoir is the
 * `size` samples of lowest priority. So any `size` of the n so far are equally likely; of m new
 * samples m * size / n are expected to enter (as in Vitter's algorithm R), and one that was pushed out
 * comes back only where samples are erased or removed. Nothing has to be remembered between triggers. */
#include "selector/policies/least.h"

struct reservoir {
    uint64_t size;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct reservoir, size, .required = true, .min = 1,
            .doc = "samples in the reservoir; limit and ratio may cut it further"),
    CFG_END,
};

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    (void)rng;
    const struct reservoir *own = options;
    size_t wanted = own->size < input->target ? (size_t)own->size : input->target;
    struct selection_least lowest;
    selector_least_init(&lowest, wanted, input->count);
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        selection_least_offer(&lowest, weir_mix64(weir_mix64(run.ids[i]) ^ input->pipeline_seed),
                              run.first + i);
    selector_least_take(&lowest, output);
    selector_least_fini(&lowest);
}

const struct selection_policy selector_selection_reservoir = {
    .name = "reservoir",
    .summary = "a uniform sample of fixed size of everything so far, changing as little as it can",
    .options = OPTIONS,
    .options_size = sizeof(struct reservoir),
    .needs = SELECTION_NEEDS_IDS,
    .tail = SELECTION_TAIL_ALL,
    .choose = choose,
};
