/* Arrivals in a race, and the weights of who was drawn. */
#include "core/base/race.h"

#include "core/base/elementary.h"

#include <float.h>
#include <math.h>

static const double LATE = DBL_MAX / 64; /* when who has no score starts */

/* Returns what counts of a score. */
static double counted_of(double score)
{
    return score > 0 ? (score < FLT_MAX ? score : FLT_MAX) : 0;
}

/* 1 - unit is in (0, 1]: no logarithm of 0. */
double weir_race_arrival(double score, struct weir_rng *rng)
{
    double counted = counted_of(score);
    double patience = -weir_ln(1 - weir_rng_unit(rng));

    return counted > 0 ? patience / counted : LATE * (patience + 1);
}

bool weir_race_is_later(const struct weir_runner *a, const struct weir_runner *b)
{
    return a->arrival > b->arrival || (a->arrival >= b->arrival && a->position > b->position);
}

double weir_race_weight(double score, double closing, size_t drawn, size_t count)
{
    double counted = counted_of(score);
    double chance = -weir_expm1(counted > 0 ? -counted * closing : 1 - closing / LATE);
    double weight = (double)drawn / ((double)count * chance);

    return fmin(weight, sqrt((double)count));
}
