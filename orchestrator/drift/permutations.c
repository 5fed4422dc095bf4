/* Drawing divisions: see permutations.h. */
#include "orchestrator/drift/permutations.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/loop/work.h"

#include <stdlib.h>

static void put(struct drift_permutations *permutations, size_t division, size_t row)
{
    uint8_t *byte = &permutations->bits[row / 8 * permutations->count + division];
    *byte = (uint8_t)(*byte | 1U << row % 8);
}

void orchestrator_permutations_init(struct drift_permutations *permutations, size_t first,
                                    size_t second, const struct drift_draws *draws)
{
    struct weir_rng rng;
    size_t rows = first + second;
    *permutations = (struct drift_permutations){
        .count = draws->drawn + 1, .rows = rows, .first = first, .blocks = (rows + 7) / 8};
    permutations->bits = weir_calloc(permutations->blocks, permutations->count);
    WEIR_AUTO_FREE uint32_t *order = weir_calloc(rows, sizeof(*order));
    for (size_t i = 0; i < rows; i++)
        order[i] = (uint32_t)i;
    for (size_t i = 0; i < first; i++)
        put(permutations, 0, i);
    weir_rng_init(&rng, draws->seed);
    for (size_t p = 1; p < permutations->count && weir_work_goes_on(draws->work, 0, 0); p++) {
        for (size_t i = 0; i < first; i++) { /* as much of a shuffle as the first group needs */
            size_t at = i + weir_rng_below(&rng, rows - i);
            uint32_t row = order[at];
            order[at] = order[i];
            order[i] = row;
            put(permutations, p, row);
        }
    }
}

void orchestrator_permutations_fini(struct drift_permutations *permutations)
{
    free(permutations->bits);
    *permutations = (struct drift_permutations){0};
}

double orchestrator_permutations_p_value(const double *statistics, size_t count)
{
    const double rounding = 1e-12; /* of statistics that lie near 1, or below */
    size_t reached = 0;
    for (size_t i = 0; i < count; i++)
        reached += statistics[i] >= statistics[0] - rounding;
    return (double)reached / (double)count;
}
