/* What came last: everything there is, or when a limit or ratio cuts it, the newest of it. */
#include "core/base/memory.h"
#include "selector/policies/draw.h"
#include "selector/policies/least.h"

enum keeps { KEEP_NEWEST, KEEP_RANDOM };

struct new_data {
    int keep;
};

static const char *const KEEPS[] = {"newest", "random", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct new_data, keep, .choices = KEEPS, .fallback = "newest",
               .doc = "which samples are kept when limit or ratio leave some out"),
    CFG_END,
};

/* Of samples of the same time those with the higher ids. */
static void choose_newest(const struct selection_input *input, struct selection_output *output)
{
    WEIR_AUTO_FREE uint64_t *ages = weir_calloc(input->count, sizeof *ages);
    for (size_t i = 0; i < input->count; i++)
        ages[i] = ~selector_key_of_time(input->times[i]);
    selector_take_least(ages, input->count, input->target, output);
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct new_data *own = options;
    if (own->keep == KEEP_NEWEST && input->target < input->count) {
        choose_newest(input, output);
        return;
    }
    size_t needed = input->target;
    for (size_t i = 0; i < input->count; i++)
        if (selector_draw(rng, input->count - i, &needed))
            output->chosen[output->count++] = i;
}

const struct selection_policy selection_new_data = {
    .name = "new_data",
    .summary = "everything since the last trigger (and the tail); cut down, the newest of it",
    .options = OPTIONS,
    .options_size = sizeof(struct new_data),
    .needs = SELECTION_NEEDS_TIMES,
    .choose = choose,
};
