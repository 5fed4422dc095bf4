/* A policy and a simulated pool: what it orders, report by report, and what may be said of that. Independent of the
 * policy: any of the registry may be tried. */
#ifndef BENCHMARKS_POOL_TRIAL_H
#define BENCHMARKS_POOL_TRIAL_H

#include "benchmarks/pool/simulated.h"

enum { TRIAL_STEPS_MAX = 4000 };

/* A policy, a job, and what happens to the job. */
struct trial {
    const struct scale_policy *policy;
    struct scale_setting setting;
    struct pool_truth truth;
    /* Batches that a policy's client does not report, at first and after a change of the workers. They make a report
     * that does not count. */
    double discard_start, discard_change;
    double span_s;        /* simulated time */
    double change_s;      /* when the consumer's time changes; 0: never */
    double change_factor; /* … so many times as long; the knee is divided by it */
    size_t reports_max;   /* 0: TRIAL_STEPS_MAX */
};

/* The order upon one report. */
struct trial_step {
    double at_s;
    struct scale_size size;
    bool is_settled;
    bool counts; /* the policy's client would have reported it */
};

struct trial_course {
    struct trial_step steps[TRIAL_STEPS_MAX];
    size_t count;
    size_t changed; /* the first step after the consumer's change */
    double change_s;
    double stall_s, idle_s;
};

void trial_run(const struct trial *trial, uint64_t seed, struct trial_course *ret_course);

/* Sizes of the pool that count as right. */
struct trial_band {
    double low, high;
};
/* Within one worker of the knee, or a tenth of it. */
struct trial_band trial_band_of(double knee);

/* Returns the number of reports from step `from` on until the size is in the band and stays there for the ten reports
 * that follow, or as many as there are; 0: it never does. `*ret_seconds` is the time until then since `from_s`. */
size_t trial_reports_until(const struct trial_course *course, size_t from, double from_s,
                           struct trial_band band, double *ret_seconds);
/* Returns how often in an hour a settled size was left and taken again: pairs of changes after the policy called itself
 * settled for the first time. */
double trial_flaps_an_hour(const struct trial_course *course);
/* Returns the dollars of an hour that the trainer's waiting and idle workers cost. */
double trial_regret(const struct trial *trial, const struct trial_course *course);

#endif
