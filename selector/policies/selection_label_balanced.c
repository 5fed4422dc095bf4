/* The same number of samples of every class, as far as the classes reach.
 *
 * Without limit and ratio every class is cut to the size of the smallest. With one, the total is
 * exactly the target as long as there are enough candidates: a class smaller than its fair share
 * gives all it has, and what it leaves is shared by the others (water-filling). `equal` cuts every
 * class to the smallest in either case. Which samples of a class are taken is random. */
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "selector/policies/groups.h"

#include <inttypes.h>
#include <stdio.h>

struct label_balanced {
    bool equal;
};

static const struct cfg_key OPTIONS[] = {
    CFG_BOOL(struct label_balanced, equal, .fallback = "false",
             .doc = "cut every class to the smallest even when limit or ratio would allow more"),
    CFG_END,
};

/* False with a reason when balance is impossible: a declared class is empty, or there is only one. */
static bool can_balance(const struct selection_input *input, const struct selection_groups *groups,
                        struct selection_output *output)
{
    for (size_t i = 0; i < input->class_count; i++) {
        if (selector_groups_find(groups, (int64_t)i) != SELECTION_NO_GROUP)
            continue;
        weir_utf8_print(output->reason, sizeof(output->reason), "class '%s' has no samples yet",
                        input->classes[i]);
        return false;
    }
    if (groups->count > 1)
        return true;
    (void)snprintf(output->reason, sizeof(output->reason),
                   "all samples have label %" PRId64 ", balancing needs two classes",
                   groups->keys[0]);
    return false;
}

static uint32_t class_of(const struct selection_grouping *grouping, const struct selection_run *run,
                         size_t i)
{
    return selector_groups_find(grouping->groups, run->labels[i]);
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct label_balanced *own = options;
    struct selection_groups groups = {0};
    SELECTION_RUNS(input, run)
    selector_groups_count(&groups, run.labels, run.count);
    selector_groups_sort(&groups);
    if (can_balance(input, &groups, output)) {
        const struct selection_grouping classes = {
            .of = class_of, .groups = &groups, .sizes = groups.sizes, .count = groups.count};
        WEIR_AUTO_FREE size_t *shares = weir_calloc(groups.count, sizeof(*shares));
        selector_groups_balance(&groups, input, own->equal, shares);
        selector_groups_draw(&classes, input, shares, rng, output);
    }
    selector_groups_fini(&groups);
}

const struct selection_policy selector_selection_label_balanced = {
    .name = "label_balanced",
    .summary = "equally many samples of every class, chosen at random within the class",
    .options = OPTIONS,
    .options_size = sizeof(struct label_balanced),
    .needs = SELECTION_NEEDS_LABELS,
    .choose = choose,
};
