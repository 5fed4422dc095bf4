/* Importance sampling by the norm of the gradient of the last layer (Katharopoulos & Fleuret, Not All
 * Samples Are Created Equal, ICML 2018: close to the best there is). */
#include "selector/scoring/proportional.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct scoring_method selector_scoring_grad_norm = {
    .name = "grad_norm",
    .summary = "a large gradient of the last layer is drawn more often, and weighs less in return",
    .options = OPTIONS,
    .wants = SCORING_WANTS_GRADIENT_NORM,
    .choose = selector_scoring_draw_proportional,
};
