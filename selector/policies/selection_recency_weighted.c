/* Newer samples more often: a sample's chance halves with every half_life of its age, counted back
 * from the newest candidate.
 *
 * Drawn without replacement, one after the other by chance among those that are left: each candidate
 * gets an exponential waiting time with rate 2^(-age / half_life), the first `target` are chosen
 * (Efraimidis & Spirakis 2006). Waiting times are compared as logarithms, so that no age underflows.
 * Importance weights undo the preference in the mean: 1 / P(chosen | the others' times), the rank
 * conditioning of Cohen & Kaplan 2007, with which a weighted sum over the set estimates the sum over
 * all candidates without bias. */
#include "core/base/memory.h"
#include "core/base/number.h"
#include "selector/policies/least.h"

#include <float.h>
#include <string.h>

enum weighting { WEIGHTS_IMPORTANCE, WEIGHTS_NONE };

struct recency_weighted {
    int64_t half_life;
    int weights;
};

static const char *const WEIGHTINGS[] = {"importance", "none", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_DURATION(struct recency_weighted, half_life, .required = true, .min = 1,
                 .doc = "an age at which a sample is drawn half as readily as the newest"),
    CFG_CHOICE(struct recency_weighted, weights, .choices = WEIGHTINGS, .fallback = "importance",
               .doc = "importance: rare old samples count more in the loss, so that it estimates "
                      "that of all candidates; none: newer samples simply dominate"),
    CFG_END,
};

static int64_t newest_of(const struct selection_input *input)
{
    int64_t newest = input->times[0];
    for (size_t i = 1; i < input->count; i++)
        if (input->times[i] > newest)
            newest = input->times[i];
    return newest;
}

static double age_of(const struct selection_input *input, size_t i, int64_t newest,
                     const struct recency_weighted *own)
{
    return (double)((uint64_t)newest - (uint64_t)input->times[i]) / (double)own->half_life;
}

/* Numbers as keys of the same order. */
static uint64_t key_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double number_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* The binary logarithm of an exponential waiting time of rate 2^-age. */
static double waiting(double age, struct weir_rng *rng)
{
    const double ln2 = 0.69314718055994530942;
    double unit = (double)((weir_rng_next(rng) >> 11) + 1) * 0x1p-53; /* (0, 1] */
    double time = unit < 1 ? -weir_ln(unit) : 0x1p-54;
    return weir_ln(time) / ln2 + age;
}

/* The chance to wait less than the first that was not chosen. */
static float weight_of(double age, double bound)
{
    double chance = weir_one_minus_exp(weir_exp2(bound - age));
    return chance * FLT_MAX > 1 ? (float)(1 / chance) : FLT_MAX;
}

static void weigh(const struct selection_input *input, const struct recency_weighted *own,
                  double bound, struct selection_output *output)
{
    int64_t newest = newest_of(input);
    for (size_t k = 0; k < output->count; k++) {
        double age = age_of(input, output->chosen[k], newest, own);
        output->weights[k] = own->weights == WEIGHTS_NONE || input->target == input->count
                                 ? 1
                                 : weight_of(age, bound);
    }
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct recency_weighted *own = options;
    int64_t newest = newest_of(input);
    WEIR_AUTO_FREE uint64_t *keys = weir_calloc(input->count, sizeof *keys);
    for (size_t i = 0; i < input->count; i++)
        keys[i] = key_of(waiting(age_of(input, i, newest, own), rng));
    selector_take_least(keys, input->count, input->target, output);
    size_t next = input->target < input->count ? input->target + 1 : input->count;
    weigh(input, own, number_of(selector_least(keys, input->count, next)), output);
}

const struct selection_policy selection_recency_weighted = {
    .name = "recency_weighted",
    .summary =
        "newer samples more often, by a half-life; importance weights may undo it in the loss",
    .options = OPTIONS,
    .options_size = sizeof(struct recency_weighted),
    .needs = SELECTION_NEEDS_TIMES,
    .weighted = true,
    .choose = choose,
};
