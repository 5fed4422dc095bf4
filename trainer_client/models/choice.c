/* Choice inside a batch: see choice.h. */
#include "trainer_client/models/choice.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double FACTOR_MAX = 1e6;

/* ---- doubt ---- */

static double probability(const float *prediction, size_t width, size_t class)
{
    double first = (double)prediction[width == 1 ? 0 : class];
    double p = width == 1 && class == 0 ? 1 - first : first;
    return p > 0 ? (p < 1 ? p : 1) : 0; /* what is no number counts as 0 */
}

static double entropy_of(const float *prediction, size_t width, size_t classes)
{
    double entropy = 0;
    for (size_t i = 0; i < classes; i++) {
        double p = probability(prediction, width, i);
        if (p > 0)
            entropy -= p * weir_ln(p);
    }
    return entropy;
}

double trainer_choice_doubt(const float *prediction, size_t width, enum cfg_uncertainty metric)
{
    size_t classes = width == 1 ? 2 : width;
    double best = 0, second = 0;
    if (metric == CFG_UNCERTAINTY_ENTROPY)
        return entropy_of(prediction, width, classes);
    for (size_t i = 0; i < classes; i++) {
        double p = probability(prediction, width, i);
        second = p > best ? best : p > second ? p : second;
        best = p > best ? p : best;
    }
    return metric == CFG_UNCERTAINTY_MARGIN ? second - best : -best;
}

/* ---- choosing ---- */

/* A sample in the order in which samples are taken: the smallest key first. */
struct runner {
    double key;
    size_t sample;
};

static int order_runners(const void *a, const void *b)
{
    const struct runner *x = a, *y = b;
    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static double sane(double score)
{
    return score > 0 ? (score < FLT_MAX ? score : FLT_MAX) : 0;
}

/* An exponential race: sample i arrives after Exp(1) / score. 1 - unit is in (0, 1]: no logarithm of 0. Who has no
 * score starts when all others are through. */
static double arrival(double score, struct weir_rng *rng)
{
    double patience = -weir_ln(1 - weir_rng_unit(rng));
    return score > 0 ? patience / score : DBL_MAX / 64 * (patience + 1);
}

static double factor_of(const struct choice_input *input, size_t sample, double total)
{
    double score = sane(input->score[sample]);
    double factor = score > 0 ? total / ((double)input->samples * score) : 1;
    return factor < FACTOR_MAX ? factor : FACTOR_MAX;
}

size_t trainer_choice_count(const struct cfg_batch_then_sample *options, size_t samples)
{
    /* A ratio such as 0.29 is a little less than it says: 100 samples are to give 29. */
    size_t count = (size_t)floor(options->ratio * (double)samples * (1 + DBL_EPSILON));
    return count > 0 ? count : samples > 0;
}

void trainer_choose(const struct cfg_batch_then_sample *options, const struct choice_input *input,
                    float *factors)
{
    bool is_drawn = options->score != CFG_IN_BATCH_UNCERTAINTY;
    WEIR_AUTO_FREE struct runner *runners = weir_calloc(input->samples + 1, sizeof(*runners));
    struct weir_rng rng;
    double total = 0;
    weir_rng_init(&rng, input->seed);
    for (size_t i = 0; i < input->samples; i++) {
        double score = sane(input->score[i]);
        total += score;
        runners[i] = (struct runner){is_drawn ? arrival(score, &rng) : -input->score[i], i};
        factors[i] = 0.0f;
    }
    qsort(runners, input->samples, sizeof(*runners), order_runners);
    size_t count = trainer_choice_count(options, input->samples);
    for (size_t n = 0; n < count; n++) {
        size_t sample = runners[n].sample;
        factors[sample] = is_drawn ? (float)factor_of(input, sample, total) : 1.0f;
    }
}
