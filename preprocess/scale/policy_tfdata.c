/* The number of workers that tf.data service reports as needed (auto_scaler.cc of TensorFlow 2.15; the service:
 * Audibert et al., SoCC 2023): the sum of the consumers' rates by the mean of the workers' rates, rounded up, where
 * rates that are more than one standard deviation from the mean count as the median. There it is a gauge that something
 * else acts upon; here the pool follows it. A baseline: kept as published, its limits included. */
#include "preprocess/scale/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tfdata_options {
    double sigmas; /* kAutoScalerOutlierSigmas */
};

static const struct tfdata_options PUBLISHED = {.sigmas = 1};

struct tfdata {
    double need; /* by the newest report that told all; 0: none has */
};

/* Rates of one kind in a report; surplus ones are left out. */
struct rates {
    size_t count;
    double at[SCALE_WORKERS_MAX];
};

static void add(struct rates *rates, double batches, double seconds)
{
    if (batches > 0 && seconds > 0 && rates->count < SCALE_WORKERS_MAX)
        rates->at[rates->count++] = batches / seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sum_of(const struct rates *rates)
{
    double sum = 0;
    for (size_t i = 0; i < rates->count; i++)
        sum += rates->at[i];
    return sum;
}

/* Of a sample: a single rate has none. */
static double deviation_of(const struct rates *rates, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < rates->count; i++)
        squares += (rates->at[i] - mean) * (rates->at[i] - mean);
    return rates->count > 1 ? sqrt(squares / (double)(rates->count - 1)) : 0;
}

/* Sorts the rates; of two in the middle the higher one is the median. */
static void replace_outliers(struct rates *rates, double sigmas)
{
    qsort(rates->at, rates->count, sizeof(*rates->at), compare);
    double mean = sum_of(rates) / (double)rates->count;
    double most = sigmas * deviation_of(rates, mean), median = rates->at[rates->count / 2];
    for (size_t i = 0; i < rates->count; i++) {
        if (rates->at[i] < mean - most || rates->at[i] > mean + most)
            rates->at[i] = median;
    }
}

static double consumers_rate(const struct scale_report *report, double sigmas)
{
    struct rates rates = {.count = 0};
    for (size_t i = 0; i < report->taker_count; i++)
        add(&rates, report->takers[i].batches, report->span_s - report->takers[i].wait_s);
    if (rates.count > 0)
        replace_outliers(&rates, sigmas);
    return sum_of(&rates);
}

static double workers_rate(const struct scale_report *report, double sigmas)
{
    struct rates rates = {.count = 0};
    for (size_t i = 0; i < report->maker_count; i++) {
        if (report->makers[i].place == SCALE_POOL)
            add(&rates, report->makers[i].batches, report->makers[i].busy_s);
    }
    if (rates.count == 0)
        return 0;
    replace_outliers(&rates, sigmas);
    return sum_of(&rates) / (double)rates.count;
}

static void decide(const struct tfdata *tfdata, const struct scale_setting *setting,
                   struct scale_decision *ret_decision)
{
    struct scale_size needed = {{(uint32_t)fmin(ceil(fmax(tfdata->need, 1)), UINT32_MAX)}};
    *ret_decision = (struct scale_decision){
        .size = preprocess_scale_within(setting, &needed),
        .need = fmax(tfdata->need, 1),
        .why = tfdata->need > 0 ? "estimate" : "measuring",
        .is_settled = tfdata->need > 0,
    };
}

static void begin(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision)
{
    decide(state, setting, ret_decision);
}

static void report(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision)
{
    const struct tfdata_options *options = setting->options != NULL ? setting->options : &PUBLISHED;
    struct tfdata *tfdata = state;
    double consumers = consumers_rate(report, options->sigmas);
    double workers = workers_rate(report, options->sigmas);
    if (consumers > 0 && workers > 0 && isfinite(consumers / workers))
        tfdata->need = consumers / workers;
    decide(tfdata, setting, ret_decision);
}

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct tfdata_options, sigmas, .fallback = "1", .min = 0, .max = 100,
            .doc = "standard deviations from the mean beyond which a rate counts as the median"),
    CFG_END,
};

const struct scale_policy preprocess_policy_tfdata = {
    .name = "tfdata",
    .summary = "the consumers' rate by the workers', rounded up (tf.data service, as published)",
    .options = OPTIONS,
    .options_size = sizeof(struct tfdata_options),
    .state_size = sizeof(struct tfdata),
    .begin = begin,
    .report = report,
};
