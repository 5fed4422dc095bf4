/* State shared by the figures of the pool benchmark: those of simulated pools, and those of real ones. */
#ifndef BENCHMARKS_POOL_BENCH_H
#define BENCHMARKS_POOL_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/pool/crowd.h"
#include "benchmarks/pool/real.h"
#include "benchmarks/pool/trial.h"

/* Policies that are compared; the first one is ours. */
enum pool_contender {
    POOL_RATES,
    POOL_CACHEW_7,
    POOL_CACHEW_3,
    POOL_PECAN,
    POOL_TFDATA,
    POOL_CONTENDERS,
};

/* A policy with its options, and the reports that it is published for. */
struct pool_entry {
    const char *name;
    const char *section; /* as it would be written in a pipeline */
    double report_s, report_batches;
    double discard_start, discard_change; /* batches that are not reported */
    enum pool_start_rule on_start;
    double settle_s;
    struct cfg_opened opened;
};

enum { POOL_NEEDS = 4, POOL_NOISES = 3 };

/* Medians over seeds. */
struct pool_outcome {
    double reports, seconds; /* until it is near the knee; STEPS_MAX reports: it never is */
    double share;            /* of the seeds: near it in as many reports as are allowed */
    double workers;          /* in the end */
    double flaps, regret;    /* of an hour */
    bool is_known;
};

struct pool_bench {
    size_t seeds;
    struct pool_entry entries[POOL_CONTENDERS];
    struct pool_outcome outcomes[POOL_CONTENDERS][POOL_NEEDS][POOL_NOISES];
    struct trial_course course;
    struct real real;
    struct real_run one, many;                       /* the newest runs of real pools */
    struct pool_crowd *crowd;                        /* NULL: not gathered yet */
    struct bench_spread planned, planned_by_written; /* rates by the optimum, and by one worker's */
};

/* A trial of an entry in a pool of workers; the truth's report length is the entry's. */
struct trial pool_trial(const struct pool_entry *entry, const struct scale_setting *setting,
                        const struct pool_truth *truth);

/* figures_settle.c */
enum weir_status prepare_settle(void *state, struct weir_error *err);
enum weir_status prepare_change(void *state, struct weir_error *err);
bench_side_fn settle_8, settle_16, settle_24, settle_32, settle_allowed;
bench_side_fn flaps_8, flaps_16, flaps_24, flaps_32, flaps_allowed;
bench_side_fn regret_8, regret_16, regret_24, regret_32;
bench_side_fn regret_best_8, regret_best_16, regret_best_24, regret_best_32;
bench_side_fn published_curve, slow_batches, doubled, halved, change_allowed;

/* figures_curves.c */
bench_side_fn cachew_on_resnet50, pecan_on_resnet50, cachew_on_retinanet, pecan_on_retinanet,
    one_worker;
bench_side_fn dollars_resnet50, dollars_retinanet, dollars_drawn;
bench_side_fn pecan_dollars_resnet50, pecan_dollars_retinanet, pecan_dollars_drawn;

/* figures_real.c */
enum weir_status prepare_real_2(void *state, struct weir_error *err);
enum weir_status prepare_real_4(void *state, struct weir_error *err);
enum weir_status prepare_real_8(void *state, struct weir_error *err);
enum weir_status prepare_real_16(void *state, struct weir_error *err);
bench_side_fn waiting_many, waiting_one, waiting_measured, waiting_foretold;
bench_side_fn computing_many, computing_one, computing_measured, computing_foretold;
bench_side_fn speedup_foretold, speedup_published;

/* figures_crowd.c */
enum weir_status prepare_crowd(void *state, struct weir_error *err);
bench_side_fn crowd_storage, crowd_dispatcher, crowd_allowed;
bench_side_fn crowd_in_force, crowd_in_force_maimed, crowd_in_force_allowed;
/* figures_planner.c */
enum weir_status prepare_planner(void *state, struct weir_error *err);
bench_side_fn planner_share, planner_least, planner_whole;

#endif
