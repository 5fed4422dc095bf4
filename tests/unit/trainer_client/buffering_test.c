/* Sizing buffers: the model against the formula of the M/M/1/K queue, and what is measured, against a small simulation
 * of workers, credit and a loop. */
#include "core/base/elementary.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "trainer_client/buffering.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define NS    1e9
#define NEVER 1e18

/* ---- the model ---- */

/* Share of the loop's time that it waits, of an M/M/1/K queue with q = workers' rate / loop's rate. */
static double waits(double q, double batches)
{
    return q == 1 ? 1 / (batches + 1) : (1 - q) / (1 - weir_pow(q, batches + 1));
}

/* The reserve alone: nothing in the making, in hand or late. */
static double reserve_for(double q)
{
    enum buffering_reason why;
    const struct buffering_extent none = {0};
    const struct buffering_rates rates = {.wanted = 1, .made = q, .slowest = q, .variance = 1 + q};
    return ceil(trainer_buffering_batches(&rates, &none, &why) * 3 / 4);
}

static void the_reserve_keeps_the_stall_of_an_mm1k_queue_small(void **state)
{
    const double QS[] = {0.5, 0.8, 0.9, 0.95, 0.99, 1, 1.01, 1.05, 1.1, 1.25, 1.5, 2};
    (void)state;
    for (size_t i = 0; i < sizeof(QS) / sizeof(QS[0]); i++) {
        double q = QS[i], needed = 0, unavoidable = fmax(1 - q, 0);
        while (waits(q, needed) - unavoidable > BUFFERING_STALL)
            needed++;
        assert_true(waits(q, reserve_for(q)) - unavoidable <= BUFFERING_STALL);
        assert_true(reserve_for(q) <= needed + 3); /* and it is next to none too many */
    }
}

static void steady_workers_need_one_batch_each(void **state)
{
    enum buffering_reason why;
    const struct buffering_extent extent = {.workers = 4};
    const struct buffering_rates rates = {.wanted = 10, .made = 20, .slowest = 5, .variance = 0.1};
    (void)state;
    assert_true(trainer_buffering_batches(&rates, &extent, &why) < 8);
    assert_int_equal(why, BUFFERING_STEADY);
}

static void a_long_way_needs_what_is_taken_meanwhile(void **state)
{
    enum buffering_reason why;
    const struct buffering_extent extent = {.workers = 1};
    const struct buffering_rates rates = {
        .wanted = 100, .made = 200, .slowest = 200, .variance = 0.1, .lead_s = 0.5};
    (void)state;
    assert_true(trainer_buffering_batches(&rates, &extent, &why) >= 50);
    assert_int_equal(why, BUFFERING_LATENCY);
}

static void in_order_it_grows_with_the_group_of_the_slowest_worker(void **state)
{
    enum buffering_reason why;
    const struct buffering_rates rates = {
        .wanted = 8, .made = 8, .slowest = 0.25, .variance = 0.0001};
    struct buffering_extent extent = {.workers = 8};
    (void)state;
    double free_order = trainer_buffering_batches(&rates, &extent, &why);
    extent.group_batches = 4;
    double in_order = trainer_buffering_batches(&rates, &extent, &why);
    assert_true(in_order - free_order >= 4 * (8 / 0.25 - 1));
    assert_int_equal(why, BUFFERING_ORDER);
}

/* ---- a simulated platform ---- */

enum { WORKERS_MAX = 8, BATCH = 1000, READY = 2, BATCHES_MAX = 1 << 18 };

struct place;
/* Seconds for the next batch. */
typedef double time_of(struct place *place, size_t worker);

struct place {
    size_t workers;
    uint64_t group; /* batches; the order is free: 0 */
    double step_s;  /* of the loop, on average */
    time_of *make;
    uint64_t window; /* fixed; 0: as decided */
    uint64_t memory; /* 0: any */
};

struct maker {
    double done_s; /* NEVER: it makes nothing */
    uint64_t number, left, ready[READY];
    size_t ready_count;
    uint64_t granted, sent, taken;
};

struct world {
    struct place place;
    struct weir_rng rng;
    struct buffering buffering;
    struct maker makers[WORKERS_MAX];
    uint8_t *by; /* worker + 1 that brought a batch; 0: it is not here */
    uint64_t next_group, next, here;
    double now_s, done_s, waiting_s, waited_s, look_s;
    uint64_t holds; /* worker + 1 of the batch in hand */
};

static struct weir_rng *rng_of(struct place *place)
{
    return &((struct world *)place)->rng; /* its first member */
}

static double exponential(struct weir_rng *rng)
{
    return -weir_ln(1 - weir_rng_unit(rng));
}

static uint64_t window(const struct world *world)
{
    return world->place.window > 0 ? world->place.window : world->buffering.bytes;
}

static void begin_batch(struct world *world, struct maker *maker)
{
    if (maker->done_s < NEVER || maker->ready_count == READY)
        return;
    if (maker->left == 0) {
        maker->left = world->place.group > 0 ? world->place.group : 1;
        maker->number = maker->left * world->next_group++;
    }
    size_t worker = (size_t)(maker - world->makers);
    maker->done_s = world->now_s + world->place.make(&world->place, worker);
}

static void send_ready(struct world *world, struct maker *maker)
{
    size_t worker = (size_t)(maker - world->makers), sent = 0;
    while (sent < maker->ready_count && maker->sent + BATCH <= maker->granted) {
        world->by[maker->ready[sent++]] = (uint8_t)(worker + 1);
        maker->sent += BATCH;
        world->here++;
        trainer_buffering_arrived(&world->buffering, (uint32_t)worker, BATCH,
                                  maker->granted - maker->sent, (int64_t)(world->now_s * NS));
    }
    for (size_t i = sent; i < maker->ready_count; i++)
        maker->ready[i - sent] = maker->ready[i];
    maker->ready_count -= sent;
    begin_batch(world, maker);
}

/* Grants a worker its part of the window, a quarter of it at least. */
static void grant(struct world *world, struct maker *maker)
{
    uint64_t share = window(world) / world->place.workers;
    uint64_t target = maker->taken + share;
    if (target <= maker->granted + share / 4)
        return;
    maker->granted = target;
    trainer_buffering_granted(&world->buffering, (uint32_t)(maker - world->makers),
                              maker->granted - maker->sent, (int64_t)(world->now_s * NS));
    send_ready(world, maker);
}

static bool find(struct world *world, uint64_t *ret_number)
{
    *ret_number = world->next;
    while (world->place.group == 0 && world->here > 0 && world->by[*ret_number] == 0)
        (*ret_number)++;
    return world->here > 0 && world->by[*ret_number] != 0;
}

static void take_batch(struct world *world)
{
    uint64_t number = 0;
    if (world->done_s < NEVER || !find(world, &number))
        return;
    world->holds = world->by[number];
    world->by[number] = 0;
    world->here--;
    world->next += world->place.group > 0;
    double step_s = world->place.step_s * (0.9 + 0.2 * weir_rng_unit(&world->rng));
    world->waited_s += world->now_s - world->waiting_s;
    trainer_buffering_waited(&world->buffering, (int64_t)((world->now_s - world->waiting_s) * NS));
    trainer_buffering_worked(&world->buffering, (int64_t)(step_s * NS));
    world->done_s = world->now_s + step_s;
}

static void end_batch(struct world *world)
{
    struct maker *maker = &world->makers[world->holds - 1];
    maker->taken += BATCH;
    world->done_s = NEVER;
    world->waiting_s = world->now_s;
    grant(world, maker);
}

static void look(struct world *world)
{
    const struct buffering_extent extent = {
        .workers = (uint32_t)world->place.workers,
        .group_batches = world->place.group,
        .in_hand = 1,
    };
    trainer_buffering_look(&world->buffering, &extent, (int64_t)(world->now_s * NS));
    world->look_s += BUFFERING_LOOK_MS / 1000.0;
    for (size_t i = 0; i < world->place.workers; i++)
        grant(world, &world->makers[i]);
}

static struct maker *first_done(struct world *world)
{
    struct maker *first = &world->makers[0];
    for (size_t i = 1; i < world->place.workers; i++) {
        if (world->makers[i].done_s < first->done_s)
            first = &world->makers[i];
    }
    return first;
}

static void finish(struct world *world, struct maker *maker)
{
    maker->ready[maker->ready_count++] = maker->number++;
    maker->left--;
    maker->done_s = NEVER;
    send_ready(world, maker);
}

static void advance(struct world *world)
{
    struct maker *maker = first_done(world);
    double next_s = fmin(fmin(maker->done_s, world->done_s), world->look_s);
    world->now_s = next_s;
    if (next_s == world->look_s)
        look(world);
    else if (next_s == world->done_s)
        end_batch(world);
    else
        finish(world, maker);
    take_batch(world);
}

static struct world *world_new(const struct place *place, uint64_t bytes)
{
    struct world *world = weir_calloc(1, sizeof(*world));
    world->place = *place;
    world->by = weir_calloc(BATCHES_MAX, 1);
    weir_rng_init(&world->rng, 7);
    trainer_buffering_begin(&world->buffering, bytes, place->memory);
    world->now_s = world->waiting_s = world->look_s = 1;
    world->done_s = NEVER;
    for (size_t i = 0; i < place->workers; i++) {
        world->makers[i].done_s = NEVER;
        begin_batch(world, &world->makers[i]);
    }
    return world;
}

static void world_free(struct world *world)
{
    free(world->by);
    free(world);
}

/* Lets time pass; the free order leaves the numbers behind it unused. */
static void live(struct world *world, double seconds)
{
    double end_s = world->now_s + seconds;
    while (world->now_s < end_s)
        advance(world);
}

struct result {
    double stall;   /* share of the loop's time, after a while */
    double batches; /* of the window, in the end */
    double at_most; /* … and at most */
    enum buffering_reason why;
};

enum { SETTLES_S = 100, SECONDS = 300 };

static struct result run(const struct place *place)
{
    struct world *world = world_new(place, 64 * BATCH);
    struct result result = {0};
    live(world, SETTLES_S);
    double before_s = world->waited_s;
    for (int i = 0; i < SECONDS; i++) {
        live(world, 1);
        result.at_most = fmax(result.at_most, (double)window(world) / BATCH);
    }
    result.stall = (world->waited_s - before_s) / SECONDS;
    result.batches = (double)window(world) / BATCH;
    result.why = world->buffering.why;
    world_free(world);
    return result;
}

static struct result run_fixed(struct place place, double batches)
{
    place.window = (uint64_t)(batches * BATCH);
    return run(&place);
}

/* ---- ways to make a batch ---- */

/* All make 36 a second together, at eight, or four. */
static double steady(struct place *place, size_t worker)
{
    (void)worker;
    return (double)place->workers / 36 * (0.95 + 0.1 * weir_rng_unit(rng_of(place)));
}

/* A few are twenty times as slow. */
static double bursty(struct place *place, size_t worker)
{
    (void)worker;
    double mean_s = (double)place->workers / 36;
    return weir_rng_below(rng_of(place), 20) == 0 ? 10 * mean_s : 10.0 / 19 * mean_s;
}

/* The last one is eight times as slow as the others. */
static double one_slow(struct place *place, size_t worker)
{
    double mean_s = 7.125 / 36;
    (void)place;
    return worker + 1 == place->workers ? 8 * mean_s : mean_s;
}

/* Each stands still for two seconds now and then. */
static double pausing(struct place *place, size_t worker)
{
    double mean_s = (double)place->workers / 40;
    (void)worker;
    return weir_rng_below(rng_of(place), 200) == 0 ? 2 : mean_s;
}

/* Too slow, all of them. */
static double slow(struct place *place, size_t worker)
{
    return 2 * steady(place, worker) * exponential(rng_of(place));
}

static void steady_workers_end_with_a_small_window(void **state)
{
    const struct place place = {.workers = 4, .step_s = 1.0 / 30, .make = steady};
    (void)state;
    struct result result = run(&place);
    assert_true(result.stall <= 2 * BUFFERING_STALL);
    assert_true(result.batches <= 16);
}

static void bursty_workers_get_a_larger_one_and_the_loop_hardly_waits(void **state)
{
    struct place place = {.workers = 4, .step_s = 1.0 / 30, .make = bursty};
    (void)state;
    struct result result = run(&place);
    place.make = steady;
    struct result before = run(&place);
    place.make = bursty;
    struct result fixed = run_fixed(place, before.batches);
    assert_true(result.batches > 2 * before.batches);
    assert_true(result.stall <= 2 * BUFFERING_STALL);
    assert_true(fixed.stall >= 4 * result.stall);
}

static void one_slow_worker_of_eight_holds_nobody_up(void **state)
{
    struct place place = {.workers = 8, .step_s = 1.0 / 30, .make = one_slow, .group = 8};
    (void)state;
    struct result result = run(&place), generous = run_fixed(place, 4096);
    assert_true(result.stall <= generous.stall + 4 * BUFFERING_STALL);
}

static void long_pauses_are_bridged(void **state)
{
    const struct place place = {.workers = 4, .step_s = 1.0 / 30, .make = pausing};
    (void)state;
    struct result result = run(&place);
    assert_true(result.stall <= 4 * BUFFERING_STALL);
    assert_true(result.batches <= 400);
}

static void workers_that_are_too_slow_do_not_make_it_grow(void **state)
{
    const struct place place = {.workers = 4, .step_s = 1.0 / 30, .make = slow};
    (void)state;
    struct result result = run(&place), generous = run_fixed(place, 4096);
    assert_true(result.stall <= generous.stall + 4 * BUFFERING_STALL);
    assert_true(result.at_most <= 64);
}

static void it_never_exceeds_the_memory_that_there_is(void **state)
{
    const struct place place = {
        .workers = 4, .step_s = 1.0 / 30, .make = pausing, .memory = 10 * BATCH};
    (void)state;
    struct result result = run(&place);
    assert_true(result.at_most <= 10);
    assert_int_equal(result.why, BUFFERING_MEMORY);
}

static void it_shrinks_again_when_bursts_are_over(void **state)
{
    const struct place place = {.workers = 4, .step_s = 1.0 / 30, .make = bursty};
    (void)state;
    struct world *world = world_new(&place, 64 * BATCH);
    live(world, SETTLES_S);
    uint64_t then = window(world);
    world->place.make = steady;
    live(world, 10 * BUFFERING_MEMORY_S);
    assert_true(window(world) < then / 2);
    world_free(world);
}

static void nothing_is_decided_before_anything_is_measured(void **state)
{
    struct buffering buffering = {.bytes = 12345, .need = 12345};
    const struct buffering_extent extent = {.workers = 2};
    (void)state;
    for (int64_t second = 1; second < 100; second++)
        trainer_buffering_look(&buffering, &extent, second * (int64_t)NS);
    assert_int_equal(buffering.bytes, 12345);
    assert_int_equal(buffering.why, BUFFERING_FIRST);
}

static void a_loop_that_says_how_many_gets_so_many(void **state)
{
    struct buffering buffering = {.is_fixed = true};
    (void)state;
    trainer_buffering_begin(&buffering, 99, 7);
    assert_int_equal(buffering.bytes, 99);
    assert_string_equal(trainer_buffering_name(buffering.why), "fixed");
    assert_false(trainer_buffering_due(&buffering, INT64_MAX));
}

static void the_first_window_keeps_within_the_memory_too(void **state)
{
    struct buffering buffering = {0};
    (void)state;
    trainer_buffering_begin(&buffering, 99, 7);
    assert_int_equal(buffering.bytes, 7);
    assert_int_equal(buffering.need, 99);
}

/* A loop that is quicker than the clock, batches of no bytes, workers that come at once. */
static void whatever_is_measured_gives_a_number(void **state)
{
    struct buffering buffering = {.bytes = 1, .need = 1};
    const struct buffering_extent extent = {.workers = 1, .group_batches = 64};
    const int64_t TIMES[] = {0, 1, INT64_MAX / 4};
    (void)state;
    for (size_t i = 0; i < 3 * 64; i++) {
        int64_t time_ns = TIMES[i / 64];
        trainer_buffering_worked(&buffering, time_ns);
        trainer_buffering_granted(&buffering, 0, UINT64_MAX, time_ns + (int64_t)i);
        trainer_buffering_arrived(&buffering, 0, i % 2 == 0 ? 0 : UINT64_MAX, UINT64_MAX,
                                  time_ns + (int64_t)i + 1);
        trainer_buffering_look(&buffering, &extent, time_ns + (int64_t)i + 1);
        assert_true(buffering.need <= UINT64_C(1) << 63);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reserve_keeps_the_stall_of_an_mm1k_queue_small),
        cmocka_unit_test(steady_workers_need_one_batch_each),
        cmocka_unit_test(a_long_way_needs_what_is_taken_meanwhile),
        cmocka_unit_test(in_order_it_grows_with_the_group_of_the_slowest_worker),
        cmocka_unit_test(steady_workers_end_with_a_small_window),
        cmocka_unit_test(bursty_workers_get_a_larger_one_and_the_loop_hardly_waits),
        cmocka_unit_test(one_slow_worker_of_eight_holds_nobody_up),
        cmocka_unit_test(long_pauses_are_bridged),
        cmocka_unit_test(workers_that_are_too_slow_do_not_make_it_grow),
        cmocka_unit_test(it_never_exceeds_the_memory_that_there_is),
        cmocka_unit_test(it_shrinks_again_when_bursts_are_over),
        cmocka_unit_test(nothing_is_decided_before_anything_is_measured),
        cmocka_unit_test(a_loop_that_says_how_many_gets_so_many),
        cmocka_unit_test(the_first_window_keeps_within_the_memory_too),
        cmocka_unit_test(whatever_is_measured_gives_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
