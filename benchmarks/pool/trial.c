/* A policy and a simulated pool: see trial.h. */
#include "benchmarks/pool/trial.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { STAYS = 10, HOUR_S = 3600 };

/* ---- running ---- */

static void change_consumer(const struct trial *trial, struct pool *pool,
                            struct trial_course *course)
{
    bool is_due = trial->change_s > 0 && pool->now_s >= trial->change_s;
    if (!is_due || course->changed > 0)
        return;
    pool->truth.consumer_s *= trial->change_factor;
    pool->truth.knee /= trial->change_factor;
    course->changed = course->count;
    course->change_s = pool->now_s;
}

static void note(struct trial_course *course, const struct pool *pool,
                 const struct scale_decision *decision, bool counts)
{
    course->steps[course->count++] = (struct trial_step){.at_s = pool->now_s,
                                                         .size = decision->size,
                                                         .is_settled = decision->is_settled,
                                                         .counts = counts};
}

static bool are_equal(const struct scale_size *a, const struct scale_size *b)
{
    return a->at[SCALE_POOL] == b->at[SCALE_POOL] && a->at[SCALE_HOST] == b->at[SCALE_HOST];
}

static double to_discard(const struct trial *trial, const struct pool *pool,
                         const struct scale_size *before, bool is_first)
{
    return is_first                            ? trial->discard_start
           : are_equal(&pool->serving, before) ? 0
                                               : trial->discard_change;
}

static void go_on(const struct trial *trial, void *state, struct pool *pool,
                  struct trial_course *course)
{
    struct scale_decision decision;
    struct scale_size before = {{0}};
    size_t most = trial->reports_max > 0 ? trial->reports_max : TRIAL_STEPS_MAX;
    trial->policy->begin(state, &trial->setting, &decision);
    pool->truth.start_s = 0; /* the first workers are there when a job starts */
    pool_order(pool, &decision.size);
    pool->truth.start_s = trial->truth.start_s;
    while (course->count < most && pool->now_s < trial->span_s) {
        change_consumer(trial, pool, course);
        double discard = to_discard(trial, pool, &before, course->count == 0);
        pool->truth.report_batches = discard > 0 ? discard : trial->truth.report_batches;
        before = pool->serving;
        struct scale_report report = pool_run(pool);
        trial->policy->report(state, &trial->setting, &report, &decision);
        pool_order(pool, &decision.size);
        note(course, pool, &decision, discard <= 0 && !pool->is_cut);
    }
}

void trial_run(const struct trial *trial, uint64_t seed, struct trial_course *ret_course)
{
    WEIR_AUTO_FREE void *state = weir_calloc(1, trial->policy->state_size);
    WEIR_AUTO_FREE struct pool *pool = weir_calloc(1, sizeof(*pool));
    ret_course->count = ret_course->changed = 0;
    pool_begin(pool, &trial->truth, seed);
    go_on(trial, state, pool, ret_course);
    ret_course->stall_s = pool->stall_s;
    ret_course->idle_s = pool->idle_s;
}

/* ---- judging ---- */

struct trial_band trial_band_of(double knee)
{
    double wide = fmax(1, knee / 10);
    return (struct trial_band){knee - wide, knee + wide};
}

static bool is_in(const struct trial_step *step, struct trial_band band)
{
    double workers = step->size.at[SCALE_POOL];
    return workers >= band.low - 1e-9 && workers <= band.high + 1e-9;
}

static bool stays_in(const struct trial_course *course, size_t from, struct trial_band band)
{
    size_t end = from + 1 + STAYS < course->count ? from + 1 + STAYS : course->count;
    for (size_t i = from; i < end; i++) {
        if (!is_in(&course->steps[i], band))
            return false;
    }
    return true;
}

size_t trial_reports_until(const struct trial_course *course, size_t from, double from_s,
                           struct trial_band band, double *ret_seconds)
{
    size_t reports = 0;
    for (size_t i = from; i < course->count; i++) {
        reports += course->steps[i].counts;
        if (!stays_in(course, i, band))
            continue;
        *ret_seconds = course->steps[i].at_s - from_s;
        return reports > 0 ? reports : 1;
    }
    *ret_seconds = INFINITY;
    return 0;
}

double trial_flaps_an_hour(const struct trial_course *course)
{
    size_t first = 0, changes = 0;
    while (first < course->count && !course->steps[first].is_settled)
        first++;
    if (first + 1 >= course->count)
        return 0;
    for (size_t i = first + 1; i < course->count; i++)
        changes += !are_equal(&course->steps[i].size, &course->steps[i - 1].size);
    double span_s = course->steps[course->count - 1].at_s - course->steps[first].at_s;
    return (double)(changes / 2) * HOUR_S / span_s;
}

double trial_regret(const struct trial *trial, const struct trial_course *course)
{
    double span_s = course->steps[course->count - 1].at_s;
    double money = course->stall_s * trial->setting.trainer_hour +
                   course->idle_s * trial->setting.worker_hour[SCALE_POOL];
    return money / span_s;
}
