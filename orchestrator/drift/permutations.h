/* Random ways to divide rows into two groups of given sizes, for p-values by permutation, laid out so that
 * sums over a group are made eight rows at a time. Division 0 is the one that was found. */
#ifndef ORCHESTRATOR_DRIFT_PERMUTATIONS_H
#define ORCHESTRATOR_DRIFT_PERMUTATIONS_H

#include <stddef.h>
#include <stdint.h>

struct weir_work;

enum { PERMUTATIONS_MAX = 10000 };

struct drift_permutations {
    size_t count;  /* divisions, the found one included */
    size_t rows;   /* in both groups */
    size_t first;  /* rows of the first group */
    size_t blocks; /* of 8 rows */
    /* bit r of [block * count + p]: row 8 block + r is in the first group of division p */
    uint8_t *bits;
};

/* Division 0, and `drawn` more, unless `work` is given up. */
struct drift_draws {
    size_t drawn;
    uint64_t seed;
    struct weir_work *work; /* NULL: none */
};
void orchestrator_permutations_init(struct drift_permutations *permutations, size_t first,
                                    size_t second, const struct drift_draws *draws);
void orchestrator_permutations_fini(struct drift_permutations *permutations);
static inline unsigned orchestrator_permutations_has(const struct drift_permutations *permutations,
                                                     size_t division, size_t row)
{
    return permutations->bits[row / 8 * permutations->count + division] >> row % 8 & 1U;
}

/* The share of divisions, the found one among them, whose statistic is at least the found one's. */
double orchestrator_permutations_p_value(const double *statistics, size_t count);

#endif
