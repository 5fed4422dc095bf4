/* The highest scores, for `uncertainty` and `rho_loss`. */
#ifndef SELECTOR_SCORING_RANKING_H
#define SELECTOR_SCORING_RANKING_H

#include "selector/scoring/scoring.h"

/* Chooses the candidates of the highest scores, of equal ones the first, each with weight 1. No score is NaN;
 * -INFINITY: not known. */
void selector_scoring_take_highest(const double *scores, const struct scoring_input *input,
                                   struct scoring_choice *choice);

#endif
