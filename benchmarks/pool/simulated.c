/* A simulated pool: see simulated.h. */
#include "benchmarks/pool/simulated.h"

#include "core/base/require.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- costs ---- */

double pool_batch_s(const struct pool_costs *costs)
{
    double batch_s = costs->read_s + costs->transfer_s;
    for (size_t i = 0; i < costs->operator_count; i++)
        batch_s += costs->operator_s[i];
    return batch_s;
}

static double made_by(const struct pool_costs *costs, unsigned workers)
{
    double rate = workers / pool_batch_s(costs);
    bool is_shared = costs->cores > 0 && costs->cpu_s > 0;
    return is_shared ? fmin(rate, costs->cores / costs->cpu_s) : rate;
}

double pool_foretell(const struct pool_costs *costs, double consumer_s, unsigned workers)
{
    double made = made_by(costs, workers);
    return consumer_s > 0 ? fmin(made, 1 / consumer_s) : made;
}

void pool_rates_even(const void *owner, const uint32_t workers[SCALE_PLACES],
                     double ret_rates[SCALE_PLACES])
{
    ret_rates[SCALE_POOL] = made_by(owner, workers[SCALE_POOL]);
    ret_rates[SCALE_HOST] = 0;
}

double pool_rate(const struct pool_truth *truth, const struct scale_size *size)
{
    double rates[SCALE_PLACES];
    if (truth->joint != NULL)
        return truth->joint(truth->owner, size->at);
    truth->rates(truth->owner, size->at, rates);
    return fmin(rates[SCALE_POOL] + rates[SCALE_HOST], 1 / truth->consumer_s);
}

/* ---- orders ---- */

void pool_begin(struct pool *pool, const struct pool_truth *truth, uint64_t seed)
{
    *pool = (struct pool){.truth = *truth};
    weir_rng_init(&pool->rng, seed);
}

static void change(struct pool *pool)
{
    pool->dip_until_s = pool->now_s + pool->truth.dip_s;
    pool->settled_s = pool->now_s + pool->truth.settle_s;
}

static void start_one(struct pool *pool, enum scale_place place)
{
    weir_require(pool->ordered.at[place] < POOL_WORKERS_MAX);
    pool->ordered.at[place]++;
    pool->starts[pool->start_count++] =
        (struct pool_start){.at_s = pool->now_s + pool->truth.start_s, .place = place};
}

/* True: one that had not started yet was let go. */
static bool cancel_one(struct pool *pool, enum scale_place place)
{
    for (size_t i = pool->start_count; i > 0; i--) {
        if (pool->starts[i - 1].place != place)
            continue;
        pool->start_count--;
        memmove(pool->starts + i - 1, pool->starts + i,
                (pool->start_count + 1 - i) * sizeof(*pool->starts));
        return true;
    }
    return false;
}

static void stop_one(struct pool *pool, enum scale_place place)
{
    pool->ordered.at[place]--;
    if (cancel_one(pool, place))
        return;
    pool->serving.at[place]--;
    change(pool);
}

void pool_order(struct pool *pool, const struct scale_size *size)
{
    for (enum scale_place place = 0; place < SCALE_PLACES; place++) {
        while (pool->ordered.at[place] < size->at[place])
            start_one(pool, place);
        while (pool->ordered.at[place] > size->at[place])
            stop_one(pool, place);
    }
}

/* Starts are in the order of their times: each takes equally long. True: one was due. */
static bool begin_work(struct pool *pool)
{
    bool is_due = false;
    while (pool->start_count > 0 && pool->starts[0].at_s <= pool->now_s) {
        enum scale_place place = pool->starts[0].place;
        pool->made[place][pool->serving.at[place]++] = 0;
        pool->start_count--;
        memmove(pool->starts, pool->starts + 1, pool->start_count * sizeof(*pool->starts));
        change(pool);
        is_due = true;
    }
    return is_due;
}

/* ---- a report ---- */

static double noise_of(struct pool *pool)
{
    if (pool->truth.noise <= 0)
        return 1;
    double radius = sqrt(-2 * log(1 - weir_rng_unit(&pool->rng)));
    return exp(pool->truth.noise * radius * cos(2 * M_PI * weir_rng_unit(&pool->rng)));
}

static void draw_noise(struct pool *pool)
{
    pool->common_rate = noise_of(pool);
    for (enum scale_place place = 0; place < SCALE_PLACES; place++) {
        for (size_t i = 0; i < pool->ordered.at[place]; i++)
            pool->own_rate[place][i] = pool->common_rate * noise_of(pool);
    }
    pool->consumer_rate = noise_of(pool);
}

/* Even flows until the next event. */
struct flow {
    double worker[SCALE_PLACES]; /* batches a second of one worker that has room, before noise */
    double capacity, demand;     /* of all workers, of the consumer */
    double made, taken;          /* really */
};

static double dip_of(const struct pool *pool)
{
    return pool->now_s < pool->dip_until_s ? 1 - pool->truth.dip : 1;
}

static void add_capacity(struct pool *pool, enum scale_place place, double rate, struct flow *flow)
{
    uint32_t workers = pool->serving.at[place];
    if (workers == 0)
        return;
    flow->worker[place] = rate / workers * dip_of(pool);
    for (size_t i = 0; i < workers; i++)
        flow->capacity += flow->worker[place] * pool->own_rate[place][i];
}

/* Made and taken are the same where the two wait for one another in turn. */
static void join(struct pool *pool, struct flow *flow)
{
    double joint = pool->truth.joint(pool->truth.owner, pool->serving.at) * dip_of(pool);
    joint *= pool->common_rate * pool->consumer_rate;
    flow->made = flow->taken = fmin(joint, fmin(flow->capacity, flow->demand));
}

static void part(struct pool *pool, struct flow *flow)
{
    bool is_full = pool->queued >= pool->truth.queue_max, is_empty = pool->queued <= 0;
    flow->made = is_full ? fmin(flow->capacity, flow->demand) : flow->capacity;
    flow->taken = is_empty ? fmin(flow->capacity, flow->demand) : flow->demand;
}

static struct flow flow_now(struct pool *pool)
{
    struct flow flow = {.demand = pool->consumer_rate / pool->truth.consumer_s};
    double rates[SCALE_PLACES];
    pool->truth.rates(pool->truth.owner, pool->serving.at, rates);
    for (enum scale_place place = 0; place < SCALE_PLACES; place++)
        add_capacity(pool, place, rates[place], &flow);
    if (pool->truth.joint != NULL)
        join(pool, &flow);
    else
        part(pool, &flow);
    return flow;
}

static double until(double now_s, double at_s, double best_s)
{
    return at_s > now_s && at_s - now_s < best_s ? at_s - now_s : best_s;
}

static double until_event(const struct pool *pool, const struct flow *flow, double end_s,
                          double end_taken)
{
    double best_s = until(pool->now_s, end_s, DBL_MAX);
    double grows = flow->made - flow->taken;
    best_s = until(pool->now_s, pool->dip_until_s, best_s);
    if (pool->start_count > 0)
        best_s = until(pool->now_s, pool->starts[0].at_s, best_s);
    if (flow->taken > 0 && end_taken > pool->taken)
        best_s = fmin(best_s, (end_taken - pool->taken) / flow->taken);
    if (grows > 0)
        best_s = fmin(best_s, (pool->truth.queue_max - pool->queued) / grows);
    if (grows < 0)
        best_s = fmin(best_s, -pool->queued / grows);
    return best_s;
}

/* A queue that is full or empty but for the last bit is so. */
static double queue_of(const struct pool *pool, double queued)
{
    double most = pool->truth.queue_max, bit = 1e-9 * most;
    return queued < bit ? 0 : queued > most - bit ? most : queued;
}

static void count_money(struct pool *pool, double span_s)
{
    double rate = pool_rate(&pool->truth, &pool->serving) * dip_of(pool);
    pool->stall_s += span_s * (1 - fmin(1, rate * pool->truth.consumer_s));
    pool->idle_s += span_s * fmax(0, pool->ordered.at[SCALE_POOL] - pool->truth.knee);
}

static void pass(struct pool *pool, const struct flow *flow, double span_s)
{
    double busy = flow->capacity > 0 ? flow->made / flow->capacity : 0;
    for (enum scale_place place = 0; place < SCALE_PLACES; place++) {
        for (size_t i = 0; i < pool->serving.at[place]; i++) {
            struct scale_maker *maker = &pool->by_place[place][i];
            double *made = &pool->made[place][i], before = floor(*made);
            *made += flow->worker[place] * pool->own_rate[place][i] * busy * span_s;
            maker->busy_s += busy * span_s;
            maker->batches += floor(*made) - before;
        }
    }
    pool->taker.wait_s += span_s * (1 - flow->taken / flow->demand);
    pool->taker.queued += span_s * pool->queued;
    pool->queued = queue_of(pool, pool->queued + (flow->made - flow->taken) * span_s);
    pool->taken += flow->taken * span_s;
    count_money(pool, span_s);
    pool->now_s += span_s;
}

static size_t gather_makers(struct pool *pool)
{
    size_t count = 0;
    for (enum scale_place place = 0; place < SCALE_PLACES; place++) {
        for (size_t i = 0; i < pool->serving.at[place]; i++) {
            pool->makers[count] = pool->by_place[place][i];
            pool->makers[count++].place = place;
        }
    }
    return count;
}

static void begin_report(struct pool *pool)
{
    (void)begin_work(pool);
    memset(pool->by_place, 0, sizeof(pool->by_place));
    pool->taker = (struct scale_taker){0};
    draw_noise(pool);
}

/* Runs until then, or until so many batches are taken. False: it was cut short, as a worker has started. */
static bool advance(struct pool *pool, double end_s, double end_taken)
{
    bool is_cut = false;
    while (!is_cut && pool->now_s < end_s - 1e-9 && pool->taken < end_taken - 1e-9) {
        struct flow flow = flow_now(pool);
        pass(pool, &flow, until_event(pool, &flow, end_s, end_taken));
        is_cut = begin_work(pool) && pool->truth.on_start != POOL_GOES_ON;
    }
    return !is_cut;
}

/* False: it is no report. As by the dispatcher, one without a batch is none either. */
static bool run_span(struct pool *pool, double *ret_begun_s, double *ret_begun)
{
    begin_report(pool);
    if (pool->truth.on_start == POOL_THROWN && !advance(pool, pool->settled_s, DBL_MAX))
        return false;
    begin_report(pool);
    *ret_begun_s = pool->now_s;
    *ret_begun = floor(pool->taken);
    double end_taken = *ret_begun + pool->truth.report_batches;
    bool is_whole = advance(pool, pool->now_s + pool->truth.report_s, end_taken);
    pool->taken = pool->taken > end_taken - 1e-9 ? end_taken : pool->taken;
    pool->is_cut = !is_whole;
    bool is_kept = is_whole && floor(pool->taken) > *ret_begun;
    return is_kept || pool->truth.on_start != POOL_THROWN;
}

struct scale_report pool_run(struct pool *pool)
{
    double begun_s, begun;
    struct scale_size served;
    do {
        (void)begin_work(pool);
        served = pool->serving;
    } while (!run_span(pool, &begun_s, &begun));
    pool->taker.batches = floor(pool->taken) - begun;
    pool->taker.queued /= pool->now_s - begun_s;
    return (struct scale_report){
        .span_s = pool->now_s - begun_s,
        .workers = {served.at[SCALE_POOL], served.at[SCALE_HOST]},
        .makers = pool->makers,
        .maker_count = gather_makers(pool),
        .takers = &pool->taker,
        .taker_count = 1,
    };
}
