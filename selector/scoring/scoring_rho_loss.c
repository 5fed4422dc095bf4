/* Samples that can be learnt and are not learnt yet: the highest reducible loss, which is the loss less that of a model
 * trained on held-out samples (Mindermann et al., Prioritized Training on Points that are Learnable, Worth
 * Learning, and Not Yet Learnt, ICML 2022, §3). Noise is hard for both models and falls out. Without samples to
 * spare two models take turns, as in the same paper: what one learns from is held out of the other. */
#include "core/base/memory.h"
#include "selector/scoring/ranking.h"

#include <float.h>
#include <math.h>

enum { HOLDOUT_SIMPLE, HOLDOUT_TWIN };

struct rho_loss {
    int holdout;
    double share;
};

static const char *const HOLDOUTS[] = {"simple", "twin", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct rho_loss, holdout, .choices = HOLDOUTS, .fallback = "simple",
               .doc = "simple: a model is trained on samples that no set of this pipeline holds; "
                      "twin: two models, each on one half of what the presampling leaves, and each "
                      "says what it makes of the other half"),
    CFG_F64(struct rho_loss, share, .fallback = "0.1", .min = 0.001, .max = 0.9,
            .doc = "of simple: the share of the samples that is held out, in every trigger the "
                   "same ones"),
    CFG_END,
};

static struct scoring_holdout holdout(const void *options)
{
    const struct rho_loss *own = options;
    bool twin = own->holdout == HOLDOUT_TWIN;
    return (struct scoring_holdout){.share = twin ? 0 : own->share, .twin = twin};
}

static double bounded(float loss)
{
    return (double)(loss > FLT_MAX ? FLT_MAX : loss < -FLT_MAX ? -FLT_MAX : loss);
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    (void)options;
    WEIR_AUTO_FREE double *scores = weir_calloc(input->count, sizeof(*scores));
    for (size_t i = 0; i < input->count; i++) {
        bool is_known = !isnan(input->values[i]) && !isnan(input->holdout_losses[i]);
        scores[i] = is_known ? bounded(input->values[i]) - bounded(input->holdout_losses[i])
                             : -(double)INFINITY;
    }
    selector_scoring_take_highest(scores, input, choice);
    return true;
}

const struct scoring_method selector_scoring_rho_loss = {
    .name = "rho_loss",
    .summary = "the samples whose loss is highest above what a model of the holdout has on them",
    .options = OPTIONS,
    .options_size = sizeof(struct rho_loss),
    .wants = SCORING_WANTS_LOSS,
    .wants_holdout_loss = true,
    .holdout = holdout,
    .choose = choose,
};
