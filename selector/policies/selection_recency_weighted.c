/* Newer samples more often: a sample's chance halves with every half_life of its age, counted back
 * from the newest candidate.
 *
 * Drawn without replacement, one after the other by chance among those that are left: each candidate
 * gets an exponential waiting time with rate 2^(-age / half_life), the first `target` are chosen
 * (Efraimidis & Spirakis 2006). Waiting times are compared as logarithms, so that no age underflows.
 * Importance weights undo the preference in the mean: 1 / P(chosen | the others' times), the rank
 * conditioning of Cohen & Kaplan 2007, with which a weighted sum over the set estimates the sum over
 * all candidates without bias. */
#include "core/base/elementary.h"
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
    int64_t newest = INT64_MIN;
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        if (run.times[i] > newest)
            newest = run.times[i];
    return newest;
}

static double age_of(int64_t time, int64_t newest, const struct recency_weighted *own)
{
    return (double)((uint64_t)newest - (uint64_t)time) / (double)own->half_life;
}

/* Numbers as keys of the same order. */
static uint64_t key_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof(bits));
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double number_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double number = 0;
    memcpy(&number, &bits, sizeof(number));
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
    double chance = -weir_expm1(-weir_exp2(bound - age));
    return chance * FLT_MAX > 1 ? (float)(1 / chance) : FLT_MAX;
}

/* `bound` is the waiting time of the first that was not chosen; NULL: all were. */
static void weigh(const struct selection_input *input, const struct recency_weighted *own,
                  int64_t newest, const double *bound, struct selection_output *output)
{
    size_t k = 0;
    bool equal = own->weights == WEIGHTS_NONE || bound == NULL;
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        if (selection_is_taken(output, run.first + i))
            output->weights[k++] = equal ? 1 : weight_of(age_of(run.times[i], newest, own), *bound);
}

/* One more than is wanted is kept: the first that was not chosen. */
static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct recency_weighted *own = options;
    int64_t newest = newest_of(input);
    bool some_left = input->target < input->count;
    struct selection_least first;
    double bound = 0;
    selector_least_init(&first, input->target + some_left, input->count);
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++)
        selection_least_offer(&first, key_of(waiting(age_of(run.times[i], newest, own), rng)),
                              run.first + i);
    if (some_left && first.count > 0) /* a reading may end early */
        bound = number_of(selector_least_pop(&first).key);
    selector_least_take(&first, output);
    weigh(input, own, newest, some_left ? &bound : NULL, output);
    selector_least_fini(&first);
}

const struct selection_policy selector_selection_recency_weighted = {
    .name = "recency_weighted",
    .summary =
        "newer samples more often, by a half-life; importance weights may undo it in the loss",
    .options = OPTIONS,
    .options_size = sizeof(struct recency_weighted),
    .needs = SELECTION_NEEDS_TIMES,
    .weighted = true,
    .choose = choose,
};
