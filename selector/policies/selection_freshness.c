/* Never-used and used samples in a fixed ratio.
 *
 * Used is what a sealed set of an earlier trigger of this pipeline holds. While nothing was used yet
 * (the first trigger) all candidates are fresh and all are taken, as far as limit and ratio allow.
 * After that the ratio is kept exactly (to the nearest sample), at the largest total that both sides
 * and the target allow. */
#include "selector/policies/sides.h"

#include <stdio.h>

struct freshness {
    double unused_ratio;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct freshness, unused_ratio, .required = true, .min = 0.001, .max = 0.999,
            .doc = "share of samples that no earlier trigger of this pipeline has used"),
    CFG_END,
};

static size_t rounded(double number)
{
    return (size_t)(number + 0.5);
}

/* The largest total up to `target` that is made of at most `fresh` and `used`. */
static size_t fit(double ratio, size_t fresh, size_t used, size_t target)
{
    double by_fresh = ((double)fresh + 1) / ratio;
    double by_used = ((double)used + 1) / (1 - ratio);
    size_t total = target;
    if (by_fresh < (double)total)
        total = (size_t)by_fresh;
    if (by_used < (double)total)
        total = (size_t)by_used;
    while (rounded((double)total * ratio) > fresh || total - rounded((double)total * ratio) > used)
        total--;
    return total;
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct freshness *own = options;
    struct selection_sides sides;
    selector_sides_count(&sides, input, SELECTION_USED);
    size_t fresh_size = sides.sizes[0], used_size = sides.sizes[1];
    size_t total = used_size == 0 ? input->target
                                  : fit(own->unused_ratio, fresh_size, used_size, input->target);
    size_t fresh = used_size == 0 ? total : rounded((double)total * own->unused_ratio);
    size_t needed[2] = {fresh, fresh_size > 0 ? total - fresh : 0};
    selector_sides_draw(&sides, input, needed, rng, output);
    if (output->count == 0)
        (void)snprintf(output->reason, sizeof(output->reason),
                       "every candidate was used before: nothing fresh keeps the ratio");
}

const struct selection_policy selector_selection_freshness = {
    .name = "freshness",
    .summary = "samples never used before and used ones, in a fixed ratio",
    .options = OPTIONS,
    .options_size = sizeof(struct freshness),
    .needs = SELECTION_NEEDS_PAST,
    .tail = SELECTION_TAIL_EARLIER,
    .choose = choose,
};
