/* Importance sampling by the loss of each sample. */
#include "selector/scoring/proportional.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct scoring_method selector_scoring_loss = {
    .name = "loss",
    .summary = "a high loss is drawn more often, and weighs less in return",
    .options = OPTIONS,
    .wants = SCORING_WANTS_LOSS,
    .choose = selector_scoring_draw_proportional,
};
