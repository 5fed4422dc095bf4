/* The same number of samples of every trigger in the tail, as far as they reach: what label_balanced
 * does for classes. A trigger that brought nothing has no share; the first trigger has all. */
#include "core/base/memory.h"
#include "selector/policies/groups.h"

struct trigger_balanced {
    bool equal;
};

static const struct cfg_key OPTIONS[] = {
    CFG_BOOL(struct trigger_balanced, equal, .fallback = "false",
             .doc = "cut every trigger to the smallest even when limit or ratio would allow more"),
    CFG_END,
};

static uint32_t trigger_of(const struct selection_grouping *grouping,
                           const struct selection_run *run, size_t i)
{
    return selector_groups_find(grouping->groups, run->triggers[i]);
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct trigger_balanced *own = options;
    struct selection_groups groups = {0};
    SELECTION_RUNS(input, run)
    selector_groups_count(&groups, run.triggers, run.count);
    selector_groups_sort(&groups);
    const struct selection_grouping triggers = {
        .of = trigger_of, .groups = &groups, .sizes = groups.sizes, .count = groups.count};
    WEIR_AUTO_FREE size_t *shares = weir_calloc(groups.count, sizeof(*shares));
    selector_groups_balance(&groups, input, own->equal, shares);
    selector_groups_draw(&triggers, input, shares, rng, output);
    selector_groups_fini(&groups);
}

const struct selection_policy selector_selection_trigger_balanced = {
    .name = "trigger_balanced",
    .summary = "equally many samples of every trigger in the tail, chosen at random within it",
    .options = OPTIONS,
    .options_size = sizeof(struct trigger_balanced),
    .needs = SELECTION_NEEDS_TRIGGERS,
    .tail = SELECTION_TAIL_EARLIER,
    .choose = choose,
};
