/* Drawing without replacement with probabilities proportional to a score, for `loss` and `grad_norm`. */
#ifndef SELECTOR_SCORING_PROPORTIONAL_H
#define SELECTOR_SCORING_PROPORTIONAL_H

#include "selector/scoring/scoring.h"

/* An exponential race: candidate i arrives after Exp(1) / score_i, and the first `target` are taken,
 * which is drawing one after the other with probability score_i / Σ of what is left (Efraimidis &
 * Spirakis, Weighted random sampling with a reservoir, 2006). Weight 1 / (n p_i), p_i = score_i / Σ, so
 * that the weighted mean of the loss is that of all candidates (Katharopoulos & Fleuret 2018, eq. 5);
 * never above a million, so that no sample drowns all others.
 * Candidates of score 0 (or less, or no number) come after all others, at random, with weight 1;
 * infinite scores count as the largest finite float. Is the `choose` of a method without options. */
bool selector_scoring_draw_proportional(const void *options, const struct scoring_input *input,
                                        struct scoring_choice *choice);

#endif
