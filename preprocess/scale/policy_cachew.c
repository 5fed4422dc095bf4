/* The scaling policy of Cachew (Graur et al., USENIX ATC 2022, section 5.1, and the constants of its published code,
 * scaling_utils.cc): one worker more while the batch time falls by more than a threshold, one step back, and a look
 * at the queue and the batch time now and then. A baseline: kept as published, its limits included. */
#include "preprocess/scale/bounds.h"
#include "preprocess/scale/history.h"

struct cachew_options {
    double threshold_up, threshold_down; /* kMinBatchTimeRelativeImprovementUp, …Down */
    double outlier;                      /* relative changes beyond it are not believed */
    double growth;                    /* kMinQueueSizeRelativeGrowth, kMinBatchTimeRelativeGrowth */
    uint64_t patience;                /* kInStabilityBeforeScaling: measurements */
    uint64_t workers_max;             /* MAX_WORKERS_PER_JOB */
    struct scale_measuring measuring; /* of its client */
};

static const struct cachew_options PUBLISHED = {
    .threshold_up = 0.07,
    .threshold_down = 0.03,
    .outlier = 1.2,
    .growth = 1.5,
    .patience = 20,
    .workers_max = 100,
    .measuring = {.batches = 500, .discard_start = 200, .discard_change = 150},
};

struct cachew {
    struct scale_history history;
    struct scale_measurement converged;
    uint32_t target;
    uint64_t stable; /* measurements since it converged, or since the last look */
    bool is_stable;
};

/* One decision being made. */
struct step {
    struct cachew *cachew;
    const struct cachew_options *options;
    const struct scale_measurement *newest, *other; /* other: NULL before there is one */
    double gain;                                    /* of newest against other */
};

static const struct cachew_options *options_of(const struct scale_setting *setting)
{
    return setting->options != NULL ? setting->options : &PUBLISHED;
}

static uint32_t pool_of(const struct scale_measurement *measurement)
{
    return measurement->workers.at[SCALE_POOL];
}

static const char *converge(struct step *step, const struct scale_measurement *at, const char *why)
{
    step->cachew->target = pool_of(at);
    step->cachew->converged = *at;
    step->cachew->is_stable = true;
    step->cachew->stable = 0;
    return why;
}

static const char *move(struct step *step, uint32_t target, const char *why)
{
    step->cachew->target = target;
    step->cachew->is_stable = false;
    return why;
}

static const char *climb(struct step *step)
{
    uint32_t workers = pool_of(step->newest);
    bool is_up = pool_of(step->other) < workers;
    if (is_up && step->gain > step->options->threshold_up)
        return move(step, workers + 1, "up");
    if (!is_up && step->gain > -step->options->threshold_down && workers > 1)
        return move(step, workers - 1, "down");
    return converge(step, step->other, "back");
}

static const char *scale(struct step *step)
{
    if (step->cachew->history.count == 1)
        return move(step, pool_of(step->newest) + 1, "up");
    if (step->other == NULL)
        return converge(step, step->newest, "converged");
    step->gain = preprocess_scale_history_gain(&step->cachew->history, step->other);
    if (step->gain > step->options->outlier || step->gain < -step->options->outlier)
        return "outlier";
    return climb(step);
}

/* The published code compares no batch times either while the queue was empty when it converged. */
static const char *watch(struct step *step)
{
    struct cachew *cachew = step->cachew;
    const struct scale_measurement *converged = &cachew->converged;
    if (++cachew->stable <= step->options->patience)
        return "stable";
    cachew->stable = 0;
    if (!(converged->queued > 0))
        return "stable";
    if (step->newest->queued / converged->queued > step->options->growth && pool_of(converged) > 1)
        return move(step, pool_of(converged) - 1, "down");
    if (step->newest->batch_s / converged->batch_s > step->options->growth)
        return move(step, pool_of(converged) + 1, "up");
    return "stable";
}

static const char *measured(struct cachew *cachew, const struct cachew_options *options)
{
    struct step step = {
        .cachew = cachew,
        .options = options,
        .newest = preprocess_scale_history_newest(&cachew->history),
        .other = preprocess_scale_history_other(&cachew->history),
    };
    if (pool_of(step.newest) != cachew->target)
        return "waiting";
    return cachew->is_stable ? watch(&step) : scale(&step);
}

static void decide(struct cachew *cachew, const struct scale_setting *setting, const char *why,
                   struct scale_decision *ret_decision)
{
    uint32_t min = setting->min.at[SCALE_POOL], max = setting->max.at[SCALE_POOL];
    uint64_t cap = options_of(setting)->workers_max;
    max = cap < max ? (uint32_t)cap : max;
    cachew->target = cachew->target < max ? cachew->target : max;
    cachew->target = cachew->target > min ? cachew->target : min;
    *ret_decision = (struct scale_decision){
        .size = preprocess_scale_within(setting, &(struct scale_size){{cachew->target}}),
        .need = cachew->target,
        .why = why,
        .is_settled = cachew->is_stable,
    };
}

static void begin(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision)
{
    struct cachew *cachew = state;
    cachew->target = 1;
    decide(cachew, setting, "first", ret_decision);
}

static void report(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision)
{
    struct cachew *cachew = state;
    const struct cachew_options *options = options_of(setting);
    const char *why = "measuring";
    if (preprocess_scale_history_add(&cachew->history, &options->measuring, report))
        why = measured(cachew, options);
    decide(cachew, setting, why, ret_decision);
}

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct cachew_options, threshold_up, .fallback = "0.07", .min = 0, .max = 1,
            .doc = "part of the batch time that one worker more has to save"),
    CFG_F64(struct cachew_options, threshold_down, .fallback = "0.03", .min = 0, .max = 1,
            .doc = "part of the batch time that one worker fewer may cost"),
    CFG_F64(struct cachew_options, outlier, .fallback = "1.2", .min = 0, .max = 100,
            .doc = "relative change beyond which a measurement is ignored"),
    CFG_F64(struct cachew_options, growth, .fallback = "1.5", .min = 1, .max = 100,
            .doc = "growth of queue or batch time after which scaling starts again"),
    CFG_U64(struct cachew_options, patience, .fallback = "20", .min = 1, .max = 1000000,
            .doc = "measurements between two looks at queue and batch time"),
    CFG_U64(struct cachew_options, workers_max, .fallback = "100", .min = 1,
            .max = SCALE_WORKERS_MAX, .doc = "workers of a job at most"),
    SCALE_MEASURING_KEYS(struct cachew_options, measuring),
    CFG_END,
};

const struct scale_policy preprocess_policy_cachew = {
    .name = "cachew",
    .summary = "one worker more while it saves 7 % of the batch time (Cachew, as published)",
    .options = OPTIONS,
    .options_size = sizeof(struct cachew_options),
    .state_size = sizeof(struct cachew),
    .begin = begin,
    .report = report,
};
