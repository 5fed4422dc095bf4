/* Importance sampling by the loss of each sample. */
#include "selector/scoring/proportional.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    (void)options;
    scoring_draw_proportional(input, choice);
    return true;
}

const struct scoring_method scoring_loss = {
    .name = "loss",
    .summary = "a high loss is drawn more often, and weighs less in return",
    .options = OPTIONS,
    .wants = SCORING_WANTS_LOSS,
    .choose = choose,
};
