/* A subset in which every sample has something like itself: facility location over the cosine of the
 * gradients (Wei, Iyer & Bilmes, Submodularity in Data Subset Selection and Active Learning, ICML 2015). */
#include "selector/scoring/cover.h"

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct cover, optimizer, .choices = COVER_OPTIMIZERS, .fallback = "lazy",
               .doc =
                   "lazy chooses as naive does; approximate is content with what is near enough; "
                   "stochastic looks at a random part each time"),
    CFG_F64(struct cover, epsilon, .fallback = "0.01", .min = 1e-6, .max = 0.9,
            .doc = "of stochastic and approximate: how far below greedy it may fall"),
    CFG_END,
};

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    static const struct cover_rule RULE = {.similarity = FACILITY_COSINE};
    return scoring_cover(options, &RULE, input, choice);
}

const struct scoring_method scoring_submodular = {
    .name = "submodular",
    .summary = "a subset in which every sample has something like itself, by gradient",
    .options = OPTIONS,
    .options_size = sizeof(struct cover),
    .wants = SCORING_WANTS_GRADIENT,
    .choose = choose,
};
