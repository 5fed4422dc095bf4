/* How soon a policy finds the number of workers that suffices, how still it stays there, and what the way costs. */
#include "benchmarks/pool/bench.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdio.h>

enum { HOUR_S = 3600, REPORTS_ALLOWED = 4, REPORTS_ALLOWED_CHANGE = 3, CHANGE_S = 600 };

static const double SLOW_S = 0.2;
static const double NEEDS[POOL_NEEDS] = {8, 16, 24, 32};
static const double NOISES[POOL_NOISES] = {0, 0.02, 0.05};
enum { NOISE_OF_FIGURES = POOL_NOISES - 1 };

/* Of Pecan's artifact: a TPU v2-8 host, and n2-standard-8 machines. */
static const struct scale_setting SETTING = {
    .min.at = {1},
    .max.at = {128},
    .trainer_hour = 4.96,
    .worker_hour = {0.427},
};

/* A consumer of 50 batches a second; a dip as in the log of Cachew's artifact, from 2800 to 2240 samples a second. */
static const struct pool_truth TRUTH = {
    .rates = pool_rates_even,
    .consumer_s = 0.02,
    .queue_max = 16,
    .start_s = 5,
    .dip = 0.2,
    .dip_s = 2,
};

struct trial pool_trial(const struct pool_entry *entry, const struct scale_setting *setting,
                        const struct pool_truth *truth)
{
    struct trial trial = {
        .policy = (const struct scale_policy *)entry->opened.plugin,
        .setting = *setting,
        .truth = *truth,
        .discard_start = entry->discard_start,
        .discard_change = entry->discard_change,
        .span_s = HOUR_S,
    };
    trial.setting.options = entry->opened.options;
    trial.truth.report_s = entry->report_s;
    trial.truth.report_batches = entry->report_batches;
    trial.truth.on_start = entry->on_start;
    trial.truth.settle_s = entry->settle_s;
    return trial;
}

/* ---- the knee ---- */

static double never_if_0(size_t reports)
{
    return reports > 0 ? (double)reports : TRIAL_STEPS_MAX;
}

/* Samples of one quantity, a seed each. */
struct seeds {
    double reports[BENCH_RUNS_MAX], seconds[BENCH_RUNS_MAX], workers[BENCH_RUNS_MAX];
    double flaps[BENCH_RUNS_MAX], regret[BENCH_RUNS_MAX];
};

static void run_seed(struct pool_bench *bench, const struct trial *trial, uint64_t seed,
                     struct seeds *seeds)
{
    struct trial_course *course = &bench->course;
    trial_run(trial, seed, course);
    seeds->reports[seed] = never_if_0(
        trial_reports_until(course, 0, 0, trial_band_of(trial->truth.knee), &seeds->seconds[seed]));
    seeds->workers[seed] = course->steps[course->count - 1].size.at[SCALE_POOL];
    seeds->flaps[seed] = trial_flaps_an_hour(course);
    seeds->regret[seed] = trial_regret(trial, course);
}

static double share_in_time(const double *reports, size_t count)
{
    size_t in_time = 0;
    for (size_t i = 0; i < count; i++)
        in_time += reports[i] <= REPORTS_ALLOWED;
    return (double)in_time / (double)count;
}

static struct pool_outcome outcome_of(struct pool_bench *bench, const struct trial *trial)
{
    WEIR_AUTO_FREE struct seeds *seeds = weir_calloc(1, sizeof(*seeds));
    for (size_t seed = 0; seed < bench->seeds; seed++)
        run_seed(bench, trial, seed, seeds);
    return (struct pool_outcome){
        .reports = bench_spread_of(seeds->reports, bench->seeds).median,
        .seconds = bench_spread_of(seeds->seconds, bench->seeds).median,
        .share = share_in_time(seeds->reports, bench->seeds),
        .workers = bench_spread_of(seeds->workers, bench->seeds).median,
        .flaps = bench_spread_of(seeds->flaps, bench->seeds).median,
        .regret = bench_spread_of(seeds->regret, bench->seeds).median,
        .is_known = true,
    };
}

static const struct pool_outcome *outcome(struct pool_bench *bench, size_t contender, size_t need,
                                          size_t noise)
{
    struct pool_outcome *outcome = &bench->outcomes[contender][need][noise];
    struct pool_costs costs = {.operator_s = {NEEDS[need] * TRUTH.consumer_s}, .operator_count = 1};
    struct pool_truth truth = TRUTH;
    truth.owner = &costs;
    truth.knee = NEEDS[need];
    truth.noise = NOISES[noise];
    if (!outcome->is_known) {
        struct trial trial = pool_trial(&bench->entries[contender], &SETTING, &truth);
        *outcome = outcome_of(bench, &trial);
    }
    return outcome;
}

static void print_outcome(const struct pool_entry *entry, const struct pool_outcome *outcome)
{
    if (outcome->reports < TRIAL_STEPS_MAX)
        fprintf(stderr, "    %-11s %4.0f reports, %5.0f s", entry->name, outcome->reports,
                outcome->seconds);
    else
        fprintf(stderr, "    %-11s %21s", entry->name, "never near");
    fprintf(stderr, "; %3.0f %% in %d; ends at %3.0f; %4.1f flaps an hour; regret $%.3f an hour\n",
            100 * outcome->share, REPORTS_ALLOWED, outcome->workers, outcome->flaps,
            outcome->regret);
}

enum weir_status prepare_settle(void *state, struct weir_error *err)
{
    struct pool_bench *bench = state;
    (void)err;
    if (bench->outcomes[POOL_RATES][0][0].is_known)
        return WEIR_OK;
    for (size_t need = 0; need < POOL_NEEDS; need++) {
        for (size_t noise = 0; noise < POOL_NOISES; noise++) {
            fprintf(stderr, "simulated: %.0f workers needed, %.0f %% noise, medians of %zu seeds\n",
                    NEEDS[need], 100 * NOISES[noise], bench->seeds);
            for (size_t i = 0; i < POOL_CONTENDERS; i++)
                print_outcome(&bench->entries[i], outcome(bench, i, need, noise));
        }
    }
    return WEIR_OK;
}

static double best_regret(struct pool_bench *bench, size_t need)
{
    double best = INFINITY;
    for (size_t i = POOL_RATES + 1; i < POOL_CONTENDERS; i++)
        best = fmin(best, outcome(bench, i, need, NOISE_OF_FIGURES)->regret);
    return best;
}

/* Fewer than one flap in ten hours count as that. */
#define KNEE(NEED, INDEX)                                                                      \
    enum weir_status settle_##NEED(void *state, double *ret_rate, struct weir_error *err)      \
    {                                                                                          \
        (void)err;                                                                             \
        *ret_rate = 1 / outcome(state, POOL_RATES, INDEX, NOISE_OF_FIGURES)->reports;          \
        return WEIR_OK;                                                                        \
    }                                                                                          \
    enum weir_status flaps_##NEED(void *state, double *ret_rate, struct weir_error *err)       \
    {                                                                                          \
        (void)err;                                                                             \
        *ret_rate = 1 / fmax(outcome(state, POOL_RATES, INDEX, NOISE_OF_FIGURES)->flaps, 0.1); \
        return WEIR_OK;                                                                        \
    }                                                                                          \
    enum weir_status regret_##NEED(void *state, double *ret_rate, struct weir_error *err)      \
    {                                                                                          \
        (void)err;                                                                             \
        *ret_rate = 1 / outcome(state, POOL_RATES, INDEX, NOISE_OF_FIGURES)->regret;           \
        return WEIR_OK;                                                                        \
    }                                                                                          \
    enum weir_status regret_best_##NEED(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                          \
        (void)err;                                                                             \
        *ret_rate = 1 / best_regret(state, INDEX);                                             \
        return WEIR_OK;                                                                        \
    }
KNEE(8, 0)
KNEE(16, 1)
KNEE(24, 2)
KNEE(32, 3)

enum weir_status settle_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1.0 / REPORTS_ALLOWED;
    return WEIR_OK;
}

enum weir_status flaps_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}

/* ---- other jobs ---- */

/* Prints what all do, and returns what ours does. */
static struct pool_outcome compare(struct pool_bench *bench, const char *what,
                                   const struct pool_truth *truth)
{
    struct pool_outcome outcome;
    fprintf(stderr, "simulated: %s, %.0f %% noise\n", what, 100 * truth->noise);
    for (size_t i = POOL_CONTENDERS; i-- > 0;) {
        struct trial trial = pool_trial(&bench->entries[i], &SETTING, truth);
        outcome = outcome_of(bench, &trial);
        print_outcome(&bench->entries[i], &outcome);
    }
    return outcome; /* of the first one, which is ours */
}

/* ---- Cachew's figure 6a ---- */

/* Seconds of an epoch by 0 to 8 workers. */
static const double EPOCH_S[] = {INFINITY, 1730, 870, 645, 550, 510, 500, 495, 495};
enum { EPOCH_WORKERS = 8, EPOCH_KNEE = 4, EPOCH_BATCHES = 24750 };

static double published_joint(const void *owner, const uint32_t workers[SCALE_PLACES])
{
    uint32_t pool = workers[SCALE_POOL] < EPOCH_WORKERS ? workers[SCALE_POOL] : EPOCH_WORKERS;
    (void)owner;
    return EPOCH_BATCHES / EPOCH_S[pool];
}

/* Workers and trainer wait for one another in turn near the knee, as any two do that a short queue connects. */
enum weir_status published_curve(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_bench *bench = state;
    struct pool_costs costs = {.operator_s = {EPOCH_S[1] / EPOCH_BATCHES}, .operator_count = 1};
    struct pool_truth truth = TRUTH;
    (void)err;
    truth.owner = &costs;
    truth.joint = published_joint;
    truth.consumer_s = EPOCH_S[EPOCH_WORKERS] / EPOCH_BATCHES;
    truth.knee = EPOCH_KNEE;
    truth.noise = NOISES[NOISE_OF_FIGURES];
    *ret_rate = 1 / compare(bench, "the curve of Cachew's figure 6a", &truth).reports;
    return WEIR_OK;
}

/* ---- batches that take long ---- */

/* Five batches a second, each of which takes a worker longer than a report: most workers have made none in it. */
enum weir_status slow_batches(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_costs costs = {.operator_s = {16 * SLOW_S}, .operator_count = 1};
    struct pool_truth truth = TRUTH;
    (void)err;
    truth.owner = &costs;
    truth.consumer_s = SLOW_S;
    truth.knee = 16;
    truth.noise = NOISES[NOISE_OF_FIGURES];
    *ret_rate = 1 / compare(state, "16 workers needed, 3.2 s a batch", &truth).reports;
    return WEIR_OK;
}

/* ---- a consumer that changes ---- */

static double reports_after_change(struct pool_bench *bench, size_t contender, double factor,
                                   double *ret_seconds)
{
    double reports[BENCH_RUNS_MAX], seconds[BENCH_RUNS_MAX];
    struct pool_costs costs = {.operator_s = {16 * TRUTH.consumer_s}, .operator_count = 1};
    struct pool_truth truth = TRUTH;
    truth.owner = &costs;
    truth.knee = 16;
    truth.noise = NOISES[NOISE_OF_FIGURES];
    struct trial trial = pool_trial(&bench->entries[contender], &SETTING, &truth);
    trial.change_s = CHANGE_S;
    trial.change_factor = factor;
    for (size_t seed = 0; seed < bench->seeds; seed++) {
        trial_run(&trial, seed, &bench->course);
        struct trial_band band = trial_band_of(16 / factor);
        reports[seed] = never_if_0(trial_reports_until(
            &bench->course, bench->course.changed, bench->course.change_s, band, &seconds[seed]));
    }
    *ret_seconds = bench_spread_of(seconds, bench->seeds).median;
    return bench_spread_of(reports, bench->seeds).median;
}

static void change(struct pool_bench *bench, const char *what, double factor, double *ret_rate)
{
    for (size_t i = POOL_CONTENDERS; i-- > 0;) {
        double seconds, reports = reports_after_change(bench, i, factor, &seconds);
        fprintf(stderr, "simulated: rate %s: %-11s ", what, bench->entries[i].name);
        if (reports < TRIAL_STEPS_MAX)
            fprintf(stderr, "%.0f reports, %.0f s\n", reports, seconds);
        else
            fprintf(stderr, "never near\n");
        *ret_rate = 1 / reports;
    }
}

enum weir_status doubled(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    change(state, "doubled", 0.5, ret_rate);
    return WEIR_OK;
}

enum weir_status halved(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    change(state, "halved", 2, ret_rate);
    return WEIR_OK;
}

enum weir_status change_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1.0 / REPORTS_ALLOWED_CHANGE;
    return WEIR_OK;
}
