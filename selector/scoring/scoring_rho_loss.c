/* What can be learnt and is not learnt yet: the highest reducible loss, which is the loss less that of a model
 * trained on held-out samples (Mindermann et al., Prioritized Training on Points that are Learnable, Worth
 * Learning, and Not Yet Learnt, ICML 2022, §3). Noise is hard for both models and falls out. */
#include "core/base/memory.h"
#include "selector/scoring/ranking.h"

#include <float.h>
#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static double bounded(float loss)
{
    return (double)(loss > FLT_MAX ? FLT_MAX : loss < -FLT_MAX ? -FLT_MAX : loss);
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    (void)options;
    WEIR_AUTO_FREE double *scores = weir_calloc(input->count, sizeof *scores);
    for (size_t i = 0; i < input->count; i++) {
        bool is_known = !isnan(input->values[i]) && !isnan(input->holdout_losses[i]);
        scores[i] = is_known ? bounded(input->values[i]) - bounded(input->holdout_losses[i])
                             : -(double)INFINITY;
    }
    scoring_take_highest(scores, input, choice);
    return true;
}

const struct scoring_method scoring_rho_loss = {
    .name = "rho_loss",
    .summary = "the samples whose loss is highest above what a model of the holdout has on them",
    .options = OPTIONS,
    .wants = SCORING_WANTS_LOSS,
    .wants_holdout_loss = true,
    .choose = choose,
};
