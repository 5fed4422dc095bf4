/* The samples that the model is least sure of (Settles, Active Learning Literature Survey, 2009, §3.1). Those of
 * which nothing is known come last. */
#include "core/base/memory.h"
#include "core/base/number.h"
#include "selector/scoring/ranking.h"

#include <math.h>

static const char *const METRICS[] = {"least_confidence", "entropy", "margin", NULL};
enum metric { LEAST_CONFIDENCE, ENTROPY, MARGIN };

struct uncertainty {
    int metric;
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct uncertainty, metric, .choices = METRICS, .fallback = "least_confidence",
               .doc = "least_confidence: of the best class; entropy: of all; margin: between the "
                      "two best"),
    CFG_END,
};

/* Probabilities of one candidate, from the softmax or, of two classes, from one sigmoid. */
struct outlook {
    const float *at;
    size_t width;
};

static double probability(const struct outlook *outlook, size_t class)
{
    double first = (double)outlook->at[outlook->width == 1 ? 0 : class];
    double p = outlook->width == 1 && class == 0 ? 1 - first : first;
    return p > 0 ? (p < 1 ? p : 1) : 0; /* no number counts as 0 */
}

static double entropy_of(const struct outlook *outlook, size_t classes)
{
    double entropy = 0;
    for (size_t i = 0; i < classes; i++) {
        double p = probability(outlook, i);
        if (p > 0)
            entropy -= p * weir_ln(p);
    }
    return entropy;
}

static bool is_known(const struct outlook *outlook)
{
    for (size_t i = 0; i < outlook->width; i++)
        if (!isnan(outlook->at[i]))
            return true;
    return false;
}

/* More is less sure. */
static double doubt(const struct outlook *outlook, int metric)
{
    size_t classes = outlook->width == 1 ? 2 : outlook->width;
    double best = 0, second = 0;
    if (!is_known(outlook))
        return -(double)INFINITY;
    if (metric == ENTROPY)
        return entropy_of(outlook, classes);
    for (size_t i = 0; i < classes; i++) {
        double p = probability(outlook, i);
        second = p > best ? best : p > second ? p : second;
        best = p > best ? p : best;
    }
    return metric == MARGIN ? second - best : -best;
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    const struct uncertainty *own = options;
    WEIR_AUTO_FREE double *doubts = weir_calloc(input->count, sizeof(*doubts));
    for (size_t i = 0; i < input->count; i++) {
        const struct outlook outlook = {input->values + i * input->width, input->width};
        doubts[i] = doubt(&outlook, own->metric);
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
