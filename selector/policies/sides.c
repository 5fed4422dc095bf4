/* Two groups, told apart by a bit. */
#include "selector/policies/sides.h"

static uint32_t side_of(const struct selection_grouping *grouping, const struct selection_run *run,
                        size_t i)
{
    const struct selection_sides *sides = grouping->owner;
    return (run->past[i] & sides->flag) != 0;
}

void selector_sides_count(struct selection_sides *sides, const struct selection_input *input,
                          enum selection_past flag)
{
    *sides = (struct selection_sides){.flag = (uint8_t)flag};
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        sides->sizes[(run.past[i] & flag) != 0]++;
}

void selector_sides_draw(const struct selection_sides *sides, const struct selection_input *input,
                         size_t needed[2], struct weir_rng *rng, struct selection_output *output)
{
    const struct selection_grouping grouping = {
        .of = side_of, .owner = sides, .sizes = sides->sizes, .count = 2};
    selector_groups_draw(&grouping, input, needed, rng, output);
}
