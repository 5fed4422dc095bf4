/* Exemplars that every sample is near: k-medoids by squared distance, as the reduction of what the mean alone
 * would leave (Gomes & Krause, Budgeted Nonparametric Learning from Data Streams, ICML 2010, §3). */
#include "selector/scoring/cover.h"

struct exemplar_clustering {
    struct optimizer optimizer;
};

static const struct cfg_key OPTIONS[] = {
    OPTIMIZER_KEYS(struct exemplar_clustering, optimizer),
    CFG_END,
};

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    static const struct cover_rule RULE = {.similarity = FACILITY_LOSS};
    const struct exemplar_clustering *own = options;
    return selector_scoring_cover(&own->optimizer, &RULE, input, choice);
}

const struct scoring_method selector_scoring_exemplar_clustering = {
    .name = "exemplar_clustering",
    .summary = "exemplars with the smallest squared distances of all samples to them, by embedding",
    .options = OPTIONS,
    .options_size = sizeof(struct exemplar_clustering),
    .wants = SCORING_WANTS_EMBEDDING,
    .choose = choose,
};
