/* A job and its pool of workers, simulated: workers that make batches, a queue, a consumer that takes them, and reports
 * of it all as the dispatcher has them of real ones. Pure, and the same for the same seed.
 *
 * Between two events (a worker has started, a dip is over, the queue is full or empty, a report is due) all flows are
 * even. Reports count whole batches, as real ones do. */
#ifndef BENCHMARKS_POOL_SIMULATED_H
#define BENCHMARKS_POOL_SIMULATED_H

#include "core/base/rng.h"
#include "preprocess/scale/policy.h"

enum { POOL_OPERATORS_MAX = 16, POOL_WORKERS_MAX = 256 };

/* Seconds of one batch in one worker, as measured. */
struct pool_costs {
    double read_s, transfer_s;
    double operator_s[POOL_OPERATORS_MAX];
    size_t operator_count;
    double cpu_s; /* of all that: CPU time */
    double cores; /* shared by the workers; 0: each worker has its own */
};

double pool_batch_s(const struct pool_costs *costs);
/* Foretells batches a second of `workers` equal workers whose batches one consumer takes, each in `consumer_s`. */
double pool_foretell(const struct pool_costs *costs, double consumer_s, unsigned workers);

/* Batches a second that all workers of each place make while there is room for them. */
typedef void pool_rates_fn(const void *owner, const uint32_t workers[SCALE_PLACES],
                           double ret_rates[SCALE_PLACES]);

/* Batches a second of a job with so many workers, where neither they nor the consumer are busy all the time. */
typedef double pool_joint_fn(const void *owner, const uint32_t workers[SCALE_PLACES]);

/* A report in which a worker has started. */
enum pool_start_rule {
    POOL_GOES_ON, /* as the gauge of tf.data service */
    POOL_ENDS,    /* then, as Cachew's client counts */
    POOL_THROWN, /* away, as by the dispatcher: the next one begins when the workers have been the same for a while */
};

struct pool_truth {
    pool_rates_fn *rates;
    pool_joint_fn *joint; /* NULL: whichever of the two is slower is busy all the time */
    const void *owner;
    double knee;       /* workers of the pool that suffice: those beyond it are idle */
    double consumer_s; /* the consumer's own time of a batch */
    double queue_max;  /* batches that may wait for it */
    double start_s;    /* from the order of a worker to its first work */
    double dip, dip_s; /* part of the workers' rate that is lost after a change, and for how long */
    double noise; /* spread of the rate of all workers, of each, and of the consumer from report to
                        * report: standard deviation of its logarithm */
    double report_s;       /* a report ends after so long … */
    double report_batches; /* … or so many batches */
    enum pool_start_rule on_start;
    double settle_s; /* POOL_THROWN: after a change, before the next report begins */
};

/* Workers that have been ordered and do not work yet. */
struct pool_start {
    double at_s;
    enum scale_place place;
};

struct pool {
    struct pool_truth truth; /* what the consumer needs may be changed between two reports */
    struct weir_rng rng;
    double now_s, dip_until_s, settled_s;
    struct scale_size serving, ordered;
    struct pool_start starts[2 * POOL_WORKERS_MAX];
    size_t start_count;
    double queued;
    double taken;                                /* batches since the beginning */
    double made[SCALE_PLACES][POOL_WORKERS_MAX]; /* the same by worker */
    double stall_s; /* time that the consumer waits, noise apart, since the beginning */
    double idle_s;  /* time of workers of the pool beyond the knee */
    /* Of the report under way. */
    struct scale_maker by_place[SCALE_PLACES][POOL_WORKERS_MAX];
    struct scale_maker makers[2 * POOL_WORKERS_MAX];
    struct scale_taker taker;
    bool is_cut; /* it ended because a worker has started */
    double own_rate[SCALE_PLACES]
                   [POOL_WORKERS_MAX]; /* noise as a factor, that common to all in it */
    double common_rate, consumer_rate;
};

void pool_begin(struct pool *pool, const struct pool_truth *truth, uint64_t seed);
/* Orders workers or lets them go; those that leave do so at once. */
void pool_order(struct pool *pool, const struct scale_size *size);
/* Runs until a report is due. It is valid until the next call. */
struct scale_report pool_run(struct pool *pool);
/* Returns the batches a second of a pool of that size in the long run, without noise. */
double pool_rate(const struct pool_truth *truth, const struct scale_size *size);

/* A pool_rates_fn: equal workers of the pool, none of the host; `owner` is their struct pool_costs. */
pool_rates_fn pool_rates_even;

#endif
