/* Workers of two places and their prices: where the published policies end on the frozen curves, and what an epoch
 * costs where ours is after a few reports, on them and on curves that are drawn. */
#include "benchmarks/pool/bench.h"
#include "benchmarks/pool/curves.h"

#include "core/base/memory.h"
#include "core/base/require.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPORTS = 8, PECAN_REPORTS = 200, DRAWN = 100, LONG_S = 1000000 };

/* ---- a pool as on a curve ---- */

/* Batches are as large as makes fifty of them a second of the trainer. */
static const double BATCHES_A_SECOND = 50;

static double batch_of(const struct curve *curve)
{
    return curve->consumer / BATCHES_A_SECOND;
}

static double at_most(const double *rates, uint32_t workers, uint32_t most)
{
    return rates[workers < most ? workers : most];
}

static void curve_rates(const void *owner, const uint32_t workers[SCALE_PLACES],
                        double ret_rates[SCALE_PLACES])
{
    const struct curve *curve = owner;
    double remote = at_most(curve->remote, workers[SCALE_POOL], CURVE_REMOTE_MAX);
    double local = at_most(curve->local, workers[SCALE_HOST], CURVE_LOCAL_MAX);
    ret_rates[SCALE_POOL] = remote / batch_of(curve);
    ret_rates[SCALE_HOST] = local / batch_of(curve);
}

static struct trial trial_on(const struct pool_entry *entry, const struct curve *curve,
                             uint32_t local_max)
{
    const struct scale_setting setting = {
        .min.at = {local_max > 0 ? 0 : 1},
        .max.at = {CURVE_REMOTE_MAX, local_max},
        .trainer_hour = curve->trainer_hour,
        .worker_hour = {curve->remote_hour},
    };
    const struct pool_truth truth = {
        .rates = curve_rates,
        .owner = curve,
        .consumer_s = 1 / BATCHES_A_SECOND,
        .queue_max = 16,
        .start_s = 5,
        .dip = 0.2,
        .dip_s = 2,
    };
    struct trial trial = pool_trial(entry, &setting, &truth);
    trial.span_s = LONG_S;
    return trial;
}

static double dollars(const struct curve *curve, const struct scale_size *size)
{
    double rate = at_most(curve->remote, size->at[SCALE_POOL], CURVE_REMOTE_MAX) +
                  at_most(curve->local, size->at[SCALE_HOST], CURVE_LOCAL_MAX);
    double hours = curve->epoch / fmin(rate, curve->consumer) / 3600;
    return hours * (curve->trainer_hour + size->at[SCALE_POOL] * curve->remote_hour);
}

/* Returns the least that an epoch can cost, of all sizes. */
static double least_dollars(const struct curve *curve)
{
    double least = INFINITY;
    for (uint32_t remote = 0; remote <= CURVE_REMOTE_MAX; remote++) {
        for (uint32_t local = remote == 0; local <= CURVE_LOCAL_MAX; local++)
            least = fmin(least, dollars(curve, &(struct scale_size){.at = {remote, local}}));
    }
    return least;
}

/* ---- where the published policies end ---- */

/* Without noise: their thresholds are at their best. */
static struct scale_size end_of(struct pool_bench *bench, size_t contender,
                                const struct curve *curve, uint32_t local_max, size_t *ret_reports)
{
    struct trial_course *course = &bench->course;
    struct trial trial = trial_on(&bench->entries[contender], curve, local_max);
    trial.reports_max = PECAN_REPORTS;
    trial_run(&trial, 0, course);
    size_t last = course->count - 1, first = last;
    while (first > 0 && course->steps[first - 1].is_settled)
        first--;
    *ret_reports = 0;
    for (size_t i = 0; i <= first; i++)
        *ret_reports += course->steps[i].counts;
    return course->steps[last].size;
}

static const struct curve *curve_of(const char *name)
{
    size_t i = 0;
    while (i < CURVE_COUNT && strcmp(CURVES[i].name, name) != 0)
        i++;
    weir_require(i < CURVE_COUNT);
    return &CURVES[i];
}

static double apart(uint32_t workers, unsigned published)
{
    return fabs((double)workers - published);
}

static double landing(struct pool_bench *bench, size_t contender, const char *name)
{
    const struct curve *curve = curve_of(name);
    bool is_pecan = contender == POOL_PECAN;
    size_t reports;
    struct scale_size end =
        end_of(bench, contender, curve, is_pecan ? CURVE_LOCAL_MAX : 0, &reports);
    fprintf(
        stderr,
        "simulated: %s: %s ends at %u remote and %u local workers after %zu reports, $%.3f an epoch\n",
        name, bench->entries[contender].name, end.at[SCALE_POOL], end.at[SCALE_HOST], reports,
        dollars(curve, &end));
    return is_pecan ? fmax(apart(end.at[SCALE_POOL], curve->pecan_remote),
                           apart(end.at[SCALE_HOST], curve->pecan_local))
                    : apart(end.at[SCALE_POOL], curve->cachew_remote);
}

#define LANDS(FIGURE, CONTENDER, CURVE)                                            \
    enum weir_status FIGURE(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                              \
        (void)err;                                                                 \
        *ret_rate = 1 / fmax(landing(state, CONTENDER, CURVE), 1);                 \
        return WEIR_OK;                                                            \
    }
LANDS(cachew_on_resnet50, POOL_CACHEW_3, "resnet50")
LANDS(pecan_on_resnet50, POOL_PECAN, "resnet50")
LANDS(cachew_on_retinanet, POOL_CACHEW_3, "retinanet")
LANDS(pecan_on_retinanet, POOL_PECAN, "retinanet")

enum weir_status one_worker(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}

/* ---- dollars ---- */

static double pecan_dollars(struct pool_bench *bench, const struct curve *curve)
{
    size_t reports;
    struct scale_size end = end_of(bench, POOL_PECAN, curve, CURVE_LOCAL_MAX, &reports);
    return dollars(curve, &end);
}

/* Returns the price of an epoch with the workers that ours has ordered after a few reports, with noise. */
static double our_dollars(struct pool_bench *bench, const struct curve *curve, uint64_t seed)
{
    struct trial trial = trial_on(&bench->entries[POOL_RATES], curve, CURVE_LOCAL_MAX);
    trial.truth.noise = 0.05;
    trial.reports_max = REPORTS;
    trial_run(&trial, seed, &bench->course);
    return dollars(curve, &bench->course.steps[bench->course.count - 1].size);
}

/* For comparison: Pecan's rule in the same noise ends elsewhere. */
static double pecan_in_noise(struct pool_bench *bench, const struct curve *curve)
{
    double all[BENCH_RUNS_MAX];
    struct trial trial = trial_on(&bench->entries[POOL_PECAN], curve, CURVE_LOCAL_MAX);
    trial.truth.noise = 0.05;
    trial.reports_max = PECAN_REPORTS;
    for (size_t seed = 0; seed < bench->seeds; seed++) {
        trial_run(&trial, seed, &bench->course);
        all[seed] = dollars(curve, &bench->course.steps[bench->course.count - 1].size);
    }
    return bench_spread_of(all, bench->seeds).median;
}

static double our_median(struct pool_bench *bench, const struct curve *curve)
{
    double all[BENCH_RUNS_MAX];
    for (size_t seed = 0; seed < bench->seeds; seed++)
        all[seed] = our_dollars(bench, curve, seed);
    struct bench_spread spread = bench_spread_of(all, bench->seeds);
    fprintf(
        stderr,
        "simulated: %s: rates after %d reports: $%.3f an epoch (%.3f to %.3f); pecan in the same "
        "noise: $%.3f; the least of all sizes: $%.3f\n",
        curve->name, REPORTS, spread.median, spread.min, spread.max, pecan_in_noise(bench, curve),
        least_dollars(curve));
    return spread.median;
}

#define DOLLARS(NAME)                                                                            \
    enum weir_status dollars_##NAME(void *state, double *ret_rate, struct weir_error *err)       \
    {                                                                                            \
        (void)err;                                                                               \
        *ret_rate = 1 / our_median(state, curve_of(#NAME));                                      \
        return WEIR_OK;                                                                          \
    }                                                                                            \
    enum weir_status pecan_dollars_##NAME(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                            \
        (void)err;                                                                               \
        *ret_rate = 1 / pecan_dollars(state, curve_of(#NAME));                                   \
        return WEIR_OK;                                                                          \
    }
DOLLARS(resnet50)
DOLLARS(retinanet)

/* ---- curves that are drawn ---- */

static double between(struct weir_rng *rng, double low, double high)
{
    return low + (high - low) * weir_rng_unit(rng);
}

/* Equal workers up to some number, from which on they slow one another down, as a power of their number. */
static void draw_rates(struct weir_rng *rng, double one, double *rates, size_t most)
{
    double even = between(rng, 3, (double)most), power = between(rng, 0.3, 0.9);
    for (size_t i = 0; i <= most; i++) {
        double n = (double)i;
        rates[i] = one * (n <= even ? n : even * pow(n / even, power));
    }
}

static struct curve draw_curve(uint64_t seed)
{
    struct curve curve = {.name = "drawn", .epoch = 1000000};
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    double one = between(&rng, 50, 300);
    draw_rates(&rng, one, curve.remote, CURVE_REMOTE_MAX);
    draw_rates(&rng, one * between(&rng, 0.2, 1.2), curve.local, CURVE_LOCAL_MAX);
    curve.consumer = one * between(&rng, 2, 18);
    curve.trainer_hour = between(&rng, 1, 10);
    curve.remote_hour = between(&rng, 0.05, 1);
    return curve;
}

/* Of each curve: Pecan's dollars by ours. */
enum weir_status dollars_drawn(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_bench *bench = state;
    double ratios[DRAWN], to_least[DRAWN];
    size_t worse = 0;
    (void)err;
    for (size_t i = 0; i < DRAWN; i++) {
        struct curve curve = draw_curve(i);
        double ours = our_dollars(bench, &curve, i);
        ratios[i] = pecan_dollars(bench, &curve) / ours;
        to_least[i] = ours / least_dollars(&curve);
        worse += ratios[i] < 1;
    }
    struct bench_spread spread = bench_spread_of(ratios, DRAWN);
    fprintf(stderr,
            "simulated: drawn curves: dollars of Pecan's end by those of rates after %d reports: "
            "median %.3f, %.3f to %.3f; %zu of %d below 1; ours by the least of all sizes: median "
            "%.3f\n",
            REPORTS, spread.median, spread.min, spread.max, worse, DRAWN,
            bench_spread_of(to_least, DRAWN).median);
    *ret_rate = spread.median;
    return WEIR_OK;
}

enum weir_status pecan_dollars_drawn(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}
