/* The samples that the model is least sure of (Settles, Active Learning Literature Survey, 2009, §3.1). Those of
 * which nothing is known come last. */
#include "core/base/doubt.h"
#include "core/base/memory.h"
#include "selector/scoring/ranking.h"

#include <math.h>

struct uncertainty {
    int metric; /* enum weir_doubt */
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct uncertainty, metric, .choices = WEIR_DOUBT_NAMES,
               .fallback = "least_confidence", .doc = WEIR_DOUBT_DOC),
    CFG_END,
};

static bool is_known(const float *prediction, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (!isnan(prediction[i]))
            return true;
    return false;
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    const struct uncertainty *own = options;
    WEIR_AUTO_FREE double *doubts = weir_calloc(input->count, sizeof(*doubts));
    for (size_t i = 0; i < input->count; i++) {
        const float *prediction = input->values + i * input->width;
        doubts[i] = is_known(prediction, input->width)
                        ? weir_doubt_of(prediction, input->width, (enum weir_doubt)own->metric)
                        : -(double)INFINITY;
    }
    selector_scoring_take_highest(doubts, input, choice);
    return true;
}

const struct scoring_method selector_scoring_uncertainty = {
    .name = "uncertainty",
    .summary = "the samples that the model is least sure of",
    .options = OPTIONS,
    .options_size = sizeof(struct uncertainty),
    .wants = SCORING_WANTS_PROBABILITIES,
    .choose = choose,
};
