/* A weighted subset whose gradient is near that of all: medoids of the gradients, each weighing as many
 * samples as it stands for (CRAIG: Mirzasoleiman, Bilmes & Leskovec, Coresets for Data-efficient Training of
 * Machine Learning Models, ICML 2020, §3.2). */
#include "selector/scoring/cover.h"

struct craig {
    struct optimizer optimizer;
};

static const struct cfg_key OPTIONS[] = {OPTIMIZER_KEYS(struct craig, optimizer), CFG_END};

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    static const struct cover_rule RULE = {.similarity = FACILITY_DISTANCE, .by_size = true};
    const struct craig *own = options;
    return selector_scoring_cover(&own->optimizer, &RULE, input, choice);
}

const struct scoring_method selector_scoring_craig = {
    .name = "craig",
    .summary = "medoids of the gradients, each weighing as many samples as it stands for",
    .options = OPTIONS,
    .options_size = sizeof(struct craig),
    .wants = SCORING_WANTS_GRADIENT,
    .choose = choose,
};
