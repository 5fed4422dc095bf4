/* What came last: everything there is, or when a limit or ratio cuts it, the newest of it. */
#include "selector/policies/draw.h"
#include "selector/policies/policy.h"

#include "core/base/memory.h"

#include <stdlib.h>

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

struct moment {
    int64_t time;
    size_t index; /* ascends with the id: breaks ties the same way everywhere */
};

static int newest_first(const void *a, const void *b)
{
    const struct moment *x = a;
    const struct moment *y = b;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->index > y->index ? -1 : x->index < y->index;
}

static void choose_newest(const struct selection_input *input, struct selection_output *output)
{
    WEIR_AUTO_FREE struct moment *moments = weir_calloc(input->count, sizeof *moments);
    for (size_t i = 0; i < input->count; i++)
        moments[i] = (struct moment){.time = input->times[i], .index = i};
    qsort(moments, input->count, sizeof *moments, newest_first);
    for (size_t i = 0; i < input->target; i++)
        output->chosen[output->count++] = moments[i].index;
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
    .needs_times = true,
    .choose = choose,
};
