/* Drawing without replacement, with chances in proportion to scores, as an exponential race: candidate i arrives after
 * Exp(1) / score_i, and the first ones to arrive are drawn, which is drawing one after the other with probability
 * score_i / Σ of what is left (Efraimidis & Spirakis, Weighted random sampling with a reservoir, 2006).
 *
 * A score of 0, or less, or no number: the candidate comes after all others, at random. Infinite scores count as the
 * largest finite float. */
#ifndef WEIR_BASE_RACE_H
#define WEIR_BASE_RACE_H

#include "core/base/rng.h"

#include <stdbool.h>
#include <stddef.h>

struct weir_runner {
    double arrival;
    size_t position; /* of the candidate */
};

/* Takes one draw from `rng`. */
double weir_race_arrival(double score, struct weir_rng *rng);
/* Of equal arrivals the first candidate's is the earlier one. */
bool weir_race_is_later(const struct weir_runner *a, const struct weir_runner *b);
/* Returns drawn / (count π) of one of those drawn, π being its chance to arrive before `closing`, when the first of
 * those that are not drawn arrives (INFINITY: all are drawn): a sum over those drawn, so weighted, is in the mean
 * drawn / count of that over all (rank conditioning: Cohen & Kaplan, Summarizing data using bottom-k sketches, 2007).
 * At most √count, so that none drowns all others (Ionides, Truncated importance sampling, 2008). */
double weir_race_weight(double score, double closing, size_t drawn, size_t count);

#endif
