/* Drawing without replacement, with chances in proportion to scores, as an exponential race: candidate i arrives after
 * Exp(1) / score_i, and the first ones to arrive are drawn, which is drawing one after the other with probability
 * score_i / Σ of what is left (Efraimidis & Spirakis, Weighted random sampling with a reservoir, 2006).
 *
 * A score of 0, or less, or no number: the candidate comes after all others, at random, and weighs 1. Infinite scores
 * count as the largest finite float. */
#ifndef WEIR_BASE_RACE_H
#define WEIR_BASE_RACE_H

#include "core/base/rng.h"

#include <stdbool.h>
#include <stddef.h>

struct weir_runner {
    double arrival;
    size_t position; /* of the candidate */
};

/* Returns what counts of a score. */
double weir_race_score(double score);
/* Takes one draw from `rng`. */
double weir_race_arrival(double score, struct weir_rng *rng);
/* Of equal arrivals the first candidate's is the earlier one. */
bool weir_race_is_later(const struct weir_runner *a, const struct weir_runner *b);
/* Returns 1 / (count p), p = score / total, so that the weighted mean over those drawn is that of all `count`
 * candidates, whose scores add up to `total` (Katharopoulos & Fleuret 2018, eq. 5); at most a million, so that none
 * drowns all others. */
double weir_race_weight(double score, double total, size_t count);

#endif
