/* Drawing without replacement with probabilities proportional to a score, for `loss` and `grad_norm`. */
#ifndef SELECTOR_SCORING_PROPORTIONAL_H
#define SELECTOR_SCORING_PROPORTIONAL_H

#include "selector/scoring/scoring.h"

/* The first `target` of an exponential race (core/base/race.h), with the weights that make up for it. Is the `choose`
 * of a method without options. */
bool selector_scoring_draw_proportional(const void *options, const struct scoring_input *input,
                                        struct scoring_choice *choice);

#endif
