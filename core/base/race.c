/* Arrivals in a race, and the weights of who was drawn. */
#include "core/base/race.h"

#include "core/base/elementary.h"

#include <float.h>

static const double WEIGHT_MAX = 1e6;

double weir_race_score(double score)
{
    return score > 0 ? (score < FLT_MAX ? score : FLT_MAX) : 0;
}

/* 1 - unit is in (0, 1]: no logarithm of 0. Who has no score starts when all others are through. */
double weir_race_arrival(double score, struct weir_rng *rng)
{
    double counted = weir_race_score(score);
    double patience = -weir_ln(1 - weir_rng_unit(rng));

    return counted > 0 ? patience / counted : DBL_MAX / 64 * (patience + 1);
}

bool weir_race_is_later(const struct weir_runner *a, const struct weir_runner *b)
{
    return a->arrival > b->arrival || (a->arrival >= b->arrival && a->position > b->position);
}

double weir_race_weight(double score, double total, size_t count)
{
    double counted = weir_race_score(score);
    double weight = counted > 0 ? total / ((double)count * counted) : 1;

    return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}
