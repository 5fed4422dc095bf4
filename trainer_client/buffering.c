/* Bytes in flight, from rates and jitter: see buffering.h. */
#include "trainer_client/buffering.h"

#include "core/base/elementary.h"

#include <math.h>

#define NS             1e9
#define EVENLY         1e-6   /* share of the loop's rate: less of a drift makes no difference */
#define SPREAD_MAX     1024.0 /* of one worker: squared deviation over squared mean */
#define SPREAD_UNKNOWN 1.0
#define HELD_BACK      (4.0 / 3) /* a quarter of a worker's part is granted late */
#define GROWS          0.5
#define FADES          0.98
#define EXTRA_MAX      15.0
#define STEP_MAX_S \
    10.0 /* a loop that is away for longer does something else: it evaluates, or stores a model */

/* ---- times ---- */

static void add(struct buffering_times *times, double seconds)
{
    times->count += 1;
    times->seconds += seconds;
    times->squares += seconds * seconds;
}

static void halve(struct buffering_times *times)
{
    if (times->count < 2 * BUFFERING_EVIDENCE)
        return;
    times->count /= 2;
    times->seconds /= 2;
    times->squares /= 2;
}

/* Per second; 0: nothing is known. */
static double rate_of(const struct buffering_times *times)
{
    return times->count > 0 && times->seconds > 0 ? times->count / times->seconds : 0;
}

/* Squared deviation over squared mean. */
static double spread_of(const struct buffering_times *times)
{
    if (times->count < BUFFERING_EVIDENCE || times->seconds <= 0)
        return SPREAD_UNKNOWN;
    double spread = times->squares * times->count / (times->seconds * times->seconds) - 1;
    return fmin(fmax(spread, 0), SPREAD_MAX);
}

/* ---- the model ---- */

/* B of buffering.h. */
static double reserve(const struct buffering_rates *rates)
{
    double drift = fmax(fabs(rates->made - rates->wanted), EVENLY * rates->wanted);
    return rates->variance / (2 * drift) * weir_ln1p(drift / (rates->wanted * BUFFERING_STALL));
}

/* Batches of others while the slowest worker makes a group, as far as the loop takes them. */
static double ahead(const struct buffering_rates *rates, uint64_t group_batches)
{
    double taken = fmin(rates->wanted, rates->made);
    return rates->slowest > 0 ? fmax(taken / rates->slowest - 1, 0) * (double)group_batches : 0;
}

double trainer_buffering_batches(const struct buffering_rates *rates,
                                 const struct buffering_extent *extent,
                                 enum buffering_reason *ret_why)
{
    double jitter = reserve(rates), order = ahead(rates, extent->group_batches);
    double lead = fmin(rates->wanted, rates->made) * rates->lead_s;
    double most = fmax(jitter, fmax(order, lead));
    *ret_why = most < extent->workers ? BUFFERING_STEADY
               : most == jitter       ? BUFFERING_JITTER
               : most == order        ? BUFFERING_ORDER
                                      : BUFFERING_LATENCY;
    return HELD_BACK * (jitter + order + lead + extent->workers) + (double)extent->in_hand;
}

/* ---- what is measured ---- */

static void limit(struct buffering *buffering)
{
    buffering->bytes = buffering->need;
    if (buffering->is_fixed || buffering->memory == 0 || buffering->memory >= buffering->need)
        return;
    buffering->bytes = buffering->memory;
    buffering->why = BUFFERING_MEMORY;
}

void trainer_buffering_begin(struct buffering *buffering, uint64_t bytes, uint64_t memory)
{
    buffering->bytes = buffering->need = bytes;
    buffering->memory = memory;
    buffering->why = buffering->is_fixed ? BUFFERING_FIXED : BUFFERING_FIRST;
    limit(buffering);
}

void trainer_buffering_worked(struct buffering *buffering, int64_t worked_ns)
{
    if (worked_ns >= 0 && (double)worked_ns <= STEP_MAX_S * NS)
        add(&buffering->steps, (double)worked_ns / NS);
}

void trainer_buffering_waited(struct buffering *buffering, int64_t waited_ns)
{
    buffering->waited_ns += waited_ns;
}

static bool may_send(const struct buffering *buffering, uint64_t left)
{
    return left > 0 && (double)left >= buffering->batch_bytes;
}

static void end_held(struct buffering *buffering, struct buffering_worker *it, int64_t now_ns)
{
    if (it->may_since == 0 && it->held_since != 0)
        buffering->held_ns += now_ns - it->held_since;
    it->held_since = now_ns;
}

void trainer_buffering_granted(struct buffering *buffering, uint32_t worker, uint64_t left,
                               int64_t now_ns)
{
    struct buffering_worker *it = &buffering->workers[worker];
    if (it->may_since != 0 || !may_send(buffering, left))
        return;
    end_held(buffering, it, now_ns);
    it->may_since = now_ns;
}

static void note_bytes(struct buffering *buffering, uint64_t bytes)
{
    buffering->batches += 1;
    buffering->batch_bytes += ((double)bytes - buffering->batch_bytes) / buffering->batches;
}

/* The lesser of two times of which one may be unknown, 0. */
static double least(double first, double second)
{
    return first > 0 && second > 0 ? fmin(first, second) : fmax(first, second);
}

static void note_gap(struct buffering_worker *it, double seconds)
{
    add(&it->gaps, seconds);
    it->least_s = least(it->least_s, seconds);
}

void trainer_buffering_arrived(struct buffering *buffering, uint32_t worker, uint64_t bytes,
                               uint64_t left, int64_t now_ns)
{
    struct buffering_worker *it = &buffering->workers[worker];
    bool is_counted = it->has_come && it->may_since != 0 && now_ns > it->may_since;
    if (is_counted)
        note_gap(it, (double)(now_ns - it->may_since) / NS);
    note_bytes(buffering, bytes);
    end_held(buffering, it, now_ns);
    it->has_come = true;
    it->may_since = may_send(buffering, left) ? now_ns : 0;
}

void trainer_buffering_leave(struct buffering *buffering, uint32_t worker)
{
    buffering->workers[worker] = (struct buffering_worker){0};
}

/* ---- the decision ---- */

static double evidence_of_workers(const struct buffering *buffering)
{
    double count = 0;
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++)
        count += buffering->workers[i].gaps.count;
    return count;
}

/* Returns false when nothing is known of it. */
static bool add_worker(const struct buffering_worker *it, struct buffering_rates *rates)
{
    double rate = rate_of(&it->gaps);
    if (rate <= 0)
        return false;
    rates->made += rate;
    rates->variance += rate * spread_of(&it->gaps);
    rates->slowest = rates->slowest == 0 ? rate : fmin(rates->slowest, rate);
    rates->lead_s = fmax(rates->lead_s, least(it->least_s, it->least_before_s));
    return true;
}

/* A loop that is more than twice as fast as its workers waits so much that its own jitter is lost in that. Workers that
 * have brought nothing yet are taken to be like those that have: in number order they cannot before they are let. */
static struct buffering_rates measured(const struct buffering *buffering, uint32_t workers)
{
    struct buffering_rates rates = {.wanted = rate_of(&buffering->steps)};
    double known = 0;
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++)
        known += add_worker(&buffering->workers[i], &rates);
    double unknown = known > 0 ? fmax((double)workers / known, 1) : 1;
    rates.made *= unknown;
    rates.variance *= unknown;
    rates.variance += fmin(rates.wanted, 2 * rates.made) * spread_of(&buffering->steps);
    return rates;
}

static void forget(struct buffering *buffering, int64_t now_ns)
{
    if (now_ns - buffering->halved_ns < BUFFERING_MEMORY_S * (int64_t)NS)
        return;
    buffering->halved_ns = now_ns;
    buffering->batches = fmin(buffering->batches, 2 * BUFFERING_EVIDENCE);
    halve(&buffering->steps);
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        struct buffering_worker *it = &buffering->workers[i];
        halve(&it->gaps);
        if (it->least_s == 0) /* it has brought nothing since */
            it->gaps = (struct buffering_times){0};
        it->least_before_s = it->least_s;
        it->least_s = 0;
    }
}

/* Grows the reserve beyond the model when the loop has waited, and workers for credit. */
static void learn(struct buffering *buffering, uint32_t workers, int64_t passed_ns)
{
    double waited = (double)buffering->waited_ns / (double)passed_ns;
    double held = (double)buffering->held_ns / ((double)passed_ns * fmax(workers, 1));
    if (waited > 2 * BUFFERING_STALL && held >= waited)
        buffering->extra = fmin((1 + buffering->extra) * (1 + GROWS) - 1, EXTRA_MAX);
    else
        buffering->extra *= FADES;
}

/* Counts the time up to now. */
static void count_held(struct buffering *buffering, int64_t now_ns)
{
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        if (buffering->workers[i].has_come)
            end_held(buffering, &buffering->workers[i], now_ns);
    }
}

static uint64_t bytes_of(double bytes)
{
    return bytes < (double)(UINT64_C(1) << 62) ? (uint64_t)bytes : UINT64_C(1) << 62;
}

static uint64_t needed(struct buffering *buffering, const struct buffering_extent *extent)
{
    double evidence = fmin(buffering->steps.count, evidence_of_workers(buffering));
    struct buffering_rates rates = measured(buffering, extent->workers);
    buffering->why = BUFFERING_FIRST;
    if (evidence < BUFFERING_EVIDENCE || rates.wanted <= 0 || rates.made <= 0)
        return buffering->need;
    double batches = trainer_buffering_batches(&rates, extent, &buffering->why);
    if (buffering->extra > GROWS)
        buffering->why = BUFFERING_WAITED;
    buffering->rates = rates;
    return bytes_of(ceil(batches * (1 + buffering->extra)) * buffering->batch_bytes) + 1;
}

/* Grows at once, shrinks little by little. */
static uint64_t approach(uint64_t bytes, uint64_t target)
{
    uint64_t least = bytes - bytes / BUFFERING_SHRINKS;
    return target > least ? target : least;
}

bool trainer_buffering_due(const struct buffering *buffering, int64_t now_ns)
{
    return !buffering->is_fixed &&
           now_ns - buffering->look_ns >= BUFFERING_LOOK_MS * INT64_C(1000000);
}

void trainer_buffering_look(struct buffering *buffering, const struct buffering_extent *extent,
                            int64_t now_ns)
{
    count_held(buffering, now_ns);
    if (buffering->look_ns == 0)
        buffering->halved_ns = now_ns;
    else
        learn(buffering, extent->workers, now_ns - buffering->look_ns);
    buffering->look_ns = now_ns;
    buffering->waited_ns = buffering->held_ns = 0;
    buffering->need = approach(buffering->need, needed(buffering, extent));
    forget(buffering, now_ns);
    limit(buffering);
}

const char *trainer_buffering_name(enum buffering_reason why)
{
    static const char *const NAMES[] = {
        [BUFFERING_FIRST] = "first",   [BUFFERING_FIXED] = "fixed",
        [BUFFERING_STEADY] = "steady", [BUFFERING_JITTER] = "jitter",
        [BUFFERING_ORDER] = "order",   [BUFFERING_LATENCY] = "latency",
        [BUFFERING_WAITED] = "waited", [BUFFERING_MEMORY] = "memory",
    };
    return NAMES[why];
}
