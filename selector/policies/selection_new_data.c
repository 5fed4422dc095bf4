/* The newest data: all candidates, or when a limit or ratio cuts them, the newest. */
#include "selector/policies/draw.h"
#include "selector/policies/least.h"

enum keeps { KEEP_NEWEST, KEEP_RANDOM };

struct new_data {
    int keep;
};

static const char *const KEEPS[] = {"newest", "random", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct new_data, keep, .choices = KEEPS, .fallback = "newest",
               .doc = "samples that are kept when limit or ratio leave some out"),
    CFG_END,
};

/* Chooses the newest; of samples of the same time those with the higher ids. */
static void choose_newest(const struct selection_input *input, struct selection_output *output)
{
    struct selection_least youngest;
    selector_least_init(&youngest, input->target, input->count);
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        selection_least_offer(&youngest, ~selector_key_of_time(run.times[i]), run.first + i);
    selector_least_take(&youngest, output);
    selector_least_fini(&youngest);
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct new_data *own = options;
    if (own->keep == KEEP_NEWEST && input->target < input->count)
        choose_newest(input, output);
    else
        selection_draw(input, input->target, rng, output);
}

const struct selection_policy selector_selection_new_data = {
    .name = "new_data",
    .summary = "everything since the last trigger (and the tail); cut down, the newest of it",
    .options = OPTIONS,
    .options_size = sizeof(struct new_data),
    .needs = SELECTION_NEEDS_TIMES,
    .choose = choose,
};
