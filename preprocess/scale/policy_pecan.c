/* AutoPlacement of Pecan (Graur et al., USENIX ATC 2024, section 4.1, and the constants of its published code,
 * local_worker_decision_utils.cc): workers of the pool while they pay, then workers on the trainer's host, which are
 * free, then fewer of the pool while that pays. Workers of the pool are its remote workers, those of the host its local
 * ones. A baseline: kept as published, its limits included.
 *
 * Published are four states and no way out of the last one; the watch on queue and batch time there is Cachew's. */
#include "preprocess/scale/bounds.h"
#include "preprocess/scale/history.h"

enum pecan_mode { MODE_COST, MODE_PERFORMANCE };

struct pecan_options {
    int mode;            /* enum pecan_mode */
    double threshold_up; /* performance mode: the improvement that a remote worker has to bring */
    double tolerance;    /* slow-down that is still none: kPerformanceErrorBar and, in performance
                          * mode, kPerformanceDecreaseTolerance */
    double outlier;      /* relative changes beyond it are not believed */
    double growth;       /* as in Cachew */
    uint64_t patience;   /* as in Cachew */
    uint64_t remote_max; /* MAX_REMOTE_WORKERS_PER_JOB */
    uint64_t local_max;  /* MAX_LOCAL_WORKERS_PER_JOB */
    struct scale_measuring measuring; /* of its client: Cachew's */
};

static const struct pecan_options PUBLISHED = {
    .mode = MODE_COST,
    .threshold_up = 0.03,
    .tolerance = 0.1,
    .outlier = 1.3,
    .growth = 1.5,
    .patience = 20,
    .remote_max = 20,
    .local_max = 10,
    .measuring = {.batches = 500, .discard_start = 200, .discard_change = 150},
};

enum pecan_state { ONLY_REMOTE, INCREASING_LOCAL, DECREASING_REMOTE, STABLE };

struct pecan {
    struct scale_history history;
    struct scale_measurement converged;
    struct scale_size target;
    enum pecan_state state;
    uint32_t entered; /* workers of the kind that the state changes, when it was entered */
    uint64_t stable;  /* measurements since it converged, or since the last look */
};

/* One decision being made. */
struct step {
    struct pecan *pecan;
    const struct pecan_options *options;
    const struct scale_setting *setting;
    const struct scale_measurement *newest, *other;
    double gain;                    /* of newest against other */
    uint32_t remote, local;         /* of newest */
    uint32_t remote_max, local_max; /* by options and bounds */
};

static const struct pecan_options *options_of(const struct scale_setting *setting)
{
    return setting->options != NULL ? setting->options : &PUBLISHED;
}

static uint32_t least(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static const char *move(struct step *step, uint32_t remote, uint32_t local, const char *why)
{
    step->pecan->target.at[SCALE_POOL] = remote;
    step->pecan->target.at[SCALE_HOST] = local;
    return why;
}

static void enter(struct step *step, enum pecan_state state, uint32_t entered)
{
    step->pecan->state = state;
    step->pecan->entered = entered;
}

static const char *settle(struct step *step, uint32_t remote, uint32_t local,
                          const struct scale_measurement *converged)
{
    enter(step, STABLE, 0);
    step->pecan->stable = 0;
    step->pecan->converged = *converged;
    return move(step, remote, local, "stable");
}

/* Without prices there is no money to save, and the rule is that of the performance mode. */
static bool counts_money(const struct step *step)
{
    return step->options->mode == MODE_COST && step->setting->trainer_hour > 0;
}

/* The time of the trainer and of the workers before that a batch saves is worth more than the new worker. */
static bool pays_to_add(const struct step *step)
{
    double trainer = step->setting->trainer_hour, worker = step->setting->worker_hour[SCALE_POOL];
    double before = trainer + step->other->workers.at[SCALE_POOL] * worker;
    return counts_money(step) ? step->gain * before > worker * (1 - step->gain)
                              : step->gain > step->options->threshold_up;
}

/* The worker that is saved costs more than the time that a batch takes longer. */
static bool pays_to_remove(const struct step *step)
{
    double trainer = step->setting->trainer_hour, worker = step->setting->worker_hour[SCALE_POOL];
    return counts_money(step) ? worker > -step->gain * (trainer + step->remote * worker)
                              : step->gain >= -step->options->tolerance;
}

static const char *only_remote(struct step *step)
{
    if (pays_to_add(step) && step->remote < step->remote_max)
        return move(step, step->remote + 1, step->local, "remote_up");
    uint32_t remote =
        step->remote >= step->remote_max ? step->remote_max : step->other->workers.at[SCALE_POOL];
    if (step->local_max == 0)
        return settle(step, remote, 0, step->other);
    enter(step, INCREASING_LOCAL, 0);
    return move(step, remote, step->other->workers.at[SCALE_HOST] + 1, "local_up");
}

static const char *increasing_local(struct step *step)
{
    bool is_slower = step->gain < -step->options->tolerance;
    if (!is_slower && step->local < step->local_max)
        return move(step, step->remote, step->local + 1, "local_up");
    uint32_t local = is_slower && step->local > 0 ? step->local - 1 : step->local;
    if (local == step->pecan->entered || step->remote == 0)
        return settle(step, step->remote, local, is_slower ? step->other : step->newest);
    enter(step, DECREASING_REMOTE, step->remote);
    return move(step, step->remote - 1, local, "remote_down");
}

static const char *decreasing_remote(struct step *step)
{
    bool pays = pays_to_remove(step);
    if (pays && step->remote > 0)
        return move(step, step->remote - 1, step->local, "remote_down");
    uint32_t remote = pays ? step->remote : step->remote + 1;
    if (remote == step->pecan->entered || step->local >= step->local_max)
        return settle(step, remote, step->local, pays ? step->newest : step->other);
    enter(step, INCREASING_LOCAL, step->local);
    return move(step, remote, step->local + 1, "local_up");
}

static const char *scale(struct step *step)
{
    if (step->pecan->history.count == 1)
        return move(step, step->remote + 1, step->local, "remote_up");
    if (step->other == NULL)
        return settle(step, step->remote, step->local, step->newest);
    step->gain = preprocess_scale_history_gain(&step->pecan->history, step->other);
    if (step->gain > step->options->outlier || step->gain < -step->options->outlier)
        return "outlier";
    switch (step->pecan->state) {
    case ONLY_REMOTE:
        return only_remote(step);
    case INCREASING_LOCAL:
        return increasing_local(step);
    default:
        return decreasing_remote(step);
    }
}

static const char *watch(struct step *step)
{
    struct pecan *pecan = step->pecan;
    const struct scale_measurement *converged = &pecan->converged;
    if (++pecan->stable <= step->options->patience)
        return "stable";
    pecan->stable = 0;
    if (!(converged->queued > 0))
        return "stable";
    if (step->newest->queued / converged->queued > step->options->growth && step->remote > 0) {
        enter(step, DECREASING_REMOTE, step->remote);
        return move(step, step->remote - 1, step->local, "remote_down");
    }
    if (step->newest->batch_s / converged->batch_s > step->options->growth) {
        enter(step, ONLY_REMOTE, step->remote);
        return move(step, step->remote + 1, step->local, "remote_up");
    }
    return "stable";
}

static const char *measured(struct pecan *pecan, const struct scale_setting *setting)
{
    const struct pecan_options *options = options_of(setting);
    struct step step = {
        .pecan = pecan,
        .options = options,
        .setting = setting,
        .newest = preprocess_scale_history_newest(&pecan->history),
        .other = preprocess_scale_history_other(&pecan->history),
        .remote_max = least(options->remote_max, setting->max.at[SCALE_POOL]),
        .local_max = least(options->local_max, setting->max.at[SCALE_HOST]),
    };
    step.remote = step.newest->workers.at[SCALE_POOL];
    step.local = step.newest->workers.at[SCALE_HOST];
    if (step.remote != pecan->target.at[SCALE_POOL] || step.local != pecan->target.at[SCALE_HOST])
        return "waiting";
    return pecan->state == STABLE ? watch(&step) : scale(&step);
}

static void decide(struct pecan *pecan, const struct scale_setting *setting, const char *why,
                   struct scale_decision *ret_decision)
{
    pecan->target = preprocess_scale_within(setting, &pecan->target);
    *ret_decision = (struct scale_decision){
        .size = pecan->target,
        .need = pecan->target.at[SCALE_POOL],
        .why = why,
        .is_settled = pecan->state == STABLE,
    };
}

static void begin(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision)
{
    struct pecan *pecan = state;
    pecan->target.at[SCALE_POOL] = 1;
    decide(pecan, setting, "first", ret_decision);
}

static void report(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision)
{
    struct pecan *pecan = state;
    const char *why = "measuring";
    if (preprocess_scale_history_add(&pecan->history, &options_of(setting)->measuring, report))
        why = measured(pecan, setting);
    decide(pecan, setting, why, ret_decision);
}

static const char *const MODES[] = {
    [MODE_COST] = "cost",
    [MODE_PERFORMANCE] = "performance",
    [MODE_PERFORMANCE + 1] = NULL,
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct pecan_options, mode, .fallback = "cost", .choices = MODES,
               .doc = "what a worker has to save: money, if prices are given, or time"),
    CFG_F64(struct pecan_options, threshold_up, .fallback = "0.03", .min = 0, .max = 1,
            .doc = "mode performance: part of the batch time that one worker more has to save"),
    CFG_F64(struct pecan_options, tolerance, .fallback = "0.1", .min = 0, .max = 1,
            .doc = "part of the batch time by which a change may slow it down"),
    CFG_F64(struct pecan_options, outlier, .fallback = "1.3", .min = 0, .max = 100,
            .doc = "relative change beyond which a measurement is ignored"),
    CFG_F64(struct pecan_options, growth, .fallback = "1.5", .min = 1, .max = 100,
            .doc = "growth of queue or batch time after which scaling starts again"),
    CFG_U64(struct pecan_options, patience, .fallback = "20", .min = 1, .max = 1000000,
            .doc = "measurements between two looks at queue and batch time"),
    CFG_U64(struct pecan_options, remote_max, .fallback = "20", .min = 1, .max = SCALE_WORKERS_MAX,
            .doc = "workers of the pool at most"),
    CFG_U64(struct pecan_options, local_max, .fallback = "10", .max = SCALE_WORKERS_MAX,
            .doc = "workers on the trainer's host at most"),
    SCALE_MEASURING_KEYS(struct pecan_options, measuring),
    CFG_END,
};

const struct scale_policy preprocess_policy_pecan = {
    .name = "pecan",
    .summary = "workers of the pool while they pay, then those of the trainer's host in their "
               "stead (Pecan's AutoPlacement, as published)",
    .options = OPTIONS,
    .options_size = sizeof(struct pecan_options),
    .state_size = sizeof(struct pecan),
    .begin = begin,
    .report = report,
};
