/* The policy `rates` on simulated pools: time of a batch max(own, 1 / capacity) with lognormal noise. Consumers take
 * fifty batches a second. */
#include "core/base/elementary.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "preprocess/scale/choice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RATE = 50, BATCHES = 100, ROWS = 64, SEEDS = 40, HOUR = 1800 };
static const double REPORT_S = 2, NOISE = 0.05;

struct world {
    struct scale_setting setting;
    /* pool workers that a linear pool needs for consumers that take one batch a second */
    double need;
    double own; /* batches a second that consumers take */
    double noise;
    /* Batches a second of so many workers; NULL: linear. */
    double (*pool)(double need, double workers);
    double (*host)(double need, double workers);
    double (*slowed)(double workers); /* share of its rate that a trainer keeps beside workers */
    bool network;     /* what is missing is lost on the way: workers do not notice */
    bool always_busy; /* workers say so, whether they have work or not */
    struct weir_rng rng;
    void *state;
    struct scale_decision decision;
};

static const struct scale_policy *policy(void)
{
    const struct scale_policy *rates = preprocess_scale_policy_find("rates");
    assert_non_null(rates);
    return rates;
}

static double noise(struct world *world)
{
    double spread = sqrt(-2 * weir_ln(1 - weir_rng_unit(&world->rng)));
    return weir_exp(world->noise * spread * weir_cospi(2 * weir_rng_unit(&world->rng)));
}

static double linear(double need, double workers)
{
    return workers / need;
}

static double amdahl(double need, double workers)
{
    return 3 * workers / need / (1 + 0.05 * (workers - 1));
}

static double saturated(double need, double workers)
{
    return fmin(workers, 0.6 * need) / need;
}

/* Of shared cores: more workers than those make less. */
static double crowded(double need, double workers)
{
    return saturated(need, workers) / (1 + 0.01 * fmax(0, workers - 0.6 * need));
}

static double part(const struct world *world, enum scale_place place, double workers)
{
    double (*capacity)(double, double) = place == SCALE_POOL ? world->pool : world->host;
    if (workers <= 0)
        return 0;
    return (capacity != NULL ? capacity : linear)(world->need, workers);
}

static double own_with(const struct world *world, double host)
{
    return world->own * (world->slowed != NULL ? world->slowed(host) : 1);
}

static double batch_s(const struct world *world, const struct scale_size *size)
{
    double made = part(world, SCALE_POOL, size->at[SCALE_POOL]) +
                  part(world, SCALE_HOST, size->at[SCALE_HOST]);
    return 1 / fmin(made, own_with(world, size->at[SCALE_HOST])) / RATE;
}

static double price(const struct world *world, const struct scale_size *size)
{
    return preprocess_choice_hour(&world->setting, size) * batch_s(world, size);
}

static double least_price(const struct world *world, struct scale_size *ret_best)
{
    double least = INFINITY;
    for (uint32_t host = 0; host <= world->setting.max.at[SCALE_HOST]; host++) {
        for (uint32_t pool = 0; pool <= world->setting.max.at[SCALE_POOL]; pool++) {
            struct scale_size size = {{pool, host}};
            if (pool + host > 0 && price(world, &size) < least) {
                least = price(world, &size);
                *ret_best = size;
            }
        }
    }
    return least;
}

static void open_world(struct world *world, uint64_t seed)
{
    weir_rng_init(&world->rng, seed);
    world->own = world->own > 0 ? world->own : 1;
    world->state = weir_calloc(1, policy()->state_size);
    policy()->begin(world->state, &world->setting, &world->decision);
}

static void close_world(struct world *world)
{
    free(world->state);
}

static size_t make(struct world *world, const struct scale_size *size, double span_s,
                   struct scale_maker *makers)
{
    double made = 0;
    size_t count = 0;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++)
        made += part(world, place, size->at[place]);
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        double workers = size->at[place], of_place = part(world, place, workers);
        double busy_s =
            BATCHES / made / RATE * (world->network ? made / linear(world->need, workers) : 1);
        for (uint32_t i = 0; i < size->at[place]; i++) {
            makers[count++] = (struct scale_maker){
                place, BATCHES * of_place / made / workers,
                world->always_busy ? span_s : fmin(busy_s * noise(world), span_s)};
        }
    }
    return count;
}

/* One report of the size that the policy has asked for. */
static void step(struct world *world)
{
    struct scale_size size = world->decision.size;
    struct scale_maker makers[2 * ROWS];
    double own_s = 1 / own_with(world, size.at[SCALE_HOST]) / RATE;
    double span_s = BATCHES * batch_s(world, &size) * noise(world);
    double scale = REPORT_S / span_s;
    struct scale_report report = {.span_s = REPORT_S, .makers = makers, .taker_count = 1};
    report.maker_count = make(world, &size, span_s, makers);
    for (size_t i = 0; i < report.maker_count; i++) {
        makers[i].batches *= scale;
        makers[i].busy_s *= scale;
    }
    struct scale_taker taker = {BATCHES * scale, fmax(span_s - BATCHES * own_s, 0) * scale, 0};
    report.workers[SCALE_POOL] = size.at[SCALE_POOL];
    report.workers[SCALE_HOST] = size.at[SCALE_HOST];
    report.takers = &taker;
    policy()->report(world->state, &world->setting, &report, &world->decision);
}

static bool is_near(uint32_t size, double knee)
{
    return fabs(size - knee) <= fmax(1, 0.1 * knee) + 1e-9;
}

static const struct scale_setting UNPRICED = {.min = {{1, 0}}, .max = {{ROWS, 0}}};
static const struct scale_setting PRICED = {
    .min = {{1, 0}}, .max = {{ROWS, 0}}, .trainer_hour = 4.96, .worker_hour = {0.427, 0}};
static const struct scale_setting BOTH_PLACES = {
    .max = {{ROWS, 10}}, .trainer_hour = 4.96, .worker_hour = {0.427, 0}};

/* ---- a linear pool ---- */

static void it_is_near_the_knee_after_four_reports_and_stays(void **state)
{
    (void)state;
    for (double need = 8; need <= 32; need += 8) {
        size_t late = 0, away = 0, turns = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct world world = {.setting = UNPRICED, .need = need, .noise = NOISE};
            int last = 0;
            open_world(&world, seed);
            for (size_t i = 1; i <= HOUR; i++) {
                uint32_t before = world.decision.size.at[SCALE_POOL];
                step(&world);
                uint32_t after = world.decision.size.at[SCALE_POOL];
                late += i == 4 && !is_near(after, need);
                int turn = after > before ? 1 : after < before ? -1 : 0;
                turns += turn != 0 && last == -turn;
                last = turn != 0 ? turn : last;
            }
            away += !is_near(world.decision.size.at[SCALE_POOL], need);
            close_world(&world);
        }
        assert_true(late <= SEEDS / 20);
        assert_true(away <= SEEDS / 20);
        assert_true(turns <= SEEDS);
    }
}

static void without_noise_it_is_there_after_four_and_does_not_move(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 24};
    open_world(&world, 1);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 1);
    for (size_t i = 0; i < 3; i++)
        step(&world);
    for (size_t i = 0; i < 100; i++) {
        step(&world);
        assert_int_equal(world.decision.size.at[SCALE_POOL], 24);
    }
    assert_true(world.decision.is_settled);
    assert_string_equal(world.decision.why, "settled");
    close_world(&world);
}

static void consumers_that_become_faster_or_slower_are_followed_in_three_reports(void **state)
{
    (void)state;
    for (double factor = 0.5; factor <= 2; factor *= 4) {
        size_t late = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct world world = {.setting = UNPRICED, .need = 16, .noise = NOISE};
            open_world(&world, seed);
            for (size_t i = 0; i < 200; i++)
                step(&world);
            world.own = factor;
            for (size_t i = 0; i < 3; i++)
                step(&world);
            late += !is_near(world.decision.size.at[SCALE_POOL], 16 * factor);
            close_world(&world);
        }
        assert_true(late <= SEEDS / 20);
    }
}

static void workers_that_become_slower_are_followed(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 10, .noise = NOISE};
    open_world(&world, 3);
    for (size_t i = 0; i < 200; i++)
        step(&world);
    world.need = 20;
    for (size_t i = 0; i < 5; i++)
        step(&world);
    assert_true(is_near(world.decision.size.at[SCALE_POOL], 20));
    close_world(&world);
}

static void a_consumer_that_only_waits_gets_all_there_are(void **state)
{
    (void)state;
    struct world world = {.setting = UNPRICED, .need = 1, .own = 1e9, .noise = NOISE};
    world.setting.max.at[SCALE_POOL] = 12;
    open_world(&world, 1);
    for (size_t i = 0; i < 3; i++)
        step(&world);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 12);
    close_world(&world);
}

/* ---- pools that are not linear ---- */

static void expect_good(struct world *world, size_t reports, double regret)
{
    struct scale_size best;
    double least = least_price(world, &best), sum = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world other = *world;
        open_world(&other, seed);
        for (size_t i = 0; i < reports; i++)
            step(&other);
        sum += price(&other, &other.decision.size) / least / SEEDS;
        close_world(&other);
    }
    if (sum > regret)
        fail_msg("%g times the price of (%u, %u)", sum, best.at[SCALE_POOL], best.at[SCALE_HOST]);
}

static void the_knee_of_a_pool_that_is_not_linear_is_found(void **state)
{
    (void)state;
    static double (*const POOLS[])(double, double) = {amdahl, saturated, crowded};
    for (size_t i = 0; i < WEIR_COUNT(POOLS); i++) {
        for (double need = 8; need <= 32; need += 12) {
            struct world world = {
                .setting = PRICED, .need = need, .noise = NOISE, .pool = POOLS[i]};
            expect_good(&world, 200, 1.04);
            world.noise = 0;
            expect_good(&world, 60, 1.04);
            world.setting = UNPRICED;
            expect_good(&world, 60, 1.06);
        }
    }
}

static void what_is_lost_on_the_network_is_seen_although_workers_do_not_say_so(void **state)
{
    (void)state;
    struct world world = {
        .setting = PRICED, .need = 16, .noise = NOISE, .pool = saturated, .network = true};
    expect_good(&world, 200, 1.04);
}

static void workers_that_always_say_that_they_are_busy_are_found_out_by_a_step_down(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 16, .always_busy = true};
    open_world(&world, 1);
    for (size_t i = 0; i < 100; i++)
        step(&world);
    world.own = 0.5;
    for (size_t i = 0; i < 200; i++)
        step(&world);
    assert_true(is_near(world.decision.size.at[SCALE_POOL], 8));
    close_world(&world);
}

/* ---- both places ---- */

static double fast_host(double need, double workers)
{
    return 1.5 * workers / need;
}

static double slow_host(double need, double workers)
{
    return 0.3 * workers / need;
}

static double slowed_beyond_six(double workers)
{
    return 1 / (1 + 0.08 * fmax(workers - 6, 0));
}

static double slowed_at_once(double workers)
{
    return 1 / (1 + 0.15 * workers);
}

static void a_good_pair_of_pool_and_host_is_found_in_eight_reports(void **state)
{
    (void)state;
    static double (*const HOSTS[])(double, double) = {linear, fast_host, slow_host};
    static double (*const SLOWED[])(double) = {NULL, slowed_beyond_six, slowed_at_once};
    for (size_t i = 0; i < WEIR_COUNT(HOSTS); i++) {
        for (size_t k = 0; k < WEIR_COUNT(SLOWED); k++) {
            struct world world = {.setting = BOTH_PLACES,
                                  .need = 18,
                                  .noise = NOISE,
                                  .host = HOSTS[i],
                                  .slowed = SLOWED[k]};
            expect_good(&world, 8, 1.05);
            expect_good(&world, 200, 1.03);
        }
    }
}

static void workers_on_the_host_that_bring_nothing_are_not_used(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 0.5};
    world.setting.max.at[SCALE_HOST] = 4;
    open_world(&world, 1);
    for (size_t i = 0; i < 20; i++)
        step(&world);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 1);
    assert_int_equal(world.decision.size.at[SCALE_HOST], 0);
    close_world(&world);
}

/* ---- reports that say little ---- */

static void reports_that_say_nothing_change_nothing(void **state)
{
    (void)state;
    static const struct scale_maker IDLE = {SCALE_POOL, 0, 0}, BUSY = {SCALE_POOL, 9, 3};
    static const struct scale_taker TAKES = {9, 0.5, 1}, WAITS = {0, 2, 0};
    static const struct scale_report REPORTS[] = {
        {.span_s = 0, .workers = {8, 0}},
        {.span_s = 2, .workers = {8, 0}},
        {.span_s = 0, .workers = {8, 0}, .makers = &BUSY, 1, .takers = &TAKES, 1},
        {.span_s = 2, .workers = {8, 0}, .makers = &IDLE, 1, .takers = &TAKES, 1},
        {.span_s = 2, .workers = {8, 0}, .makers = &BUSY, 1, .takers = &WAITS, 1},
        {.span_s = 2, .workers = {0, 0}, .makers = &BUSY, 1, .takers = &TAKES, 1},
    };
    struct world world = {.setting = PRICED, .need = 8, .noise = NOISE};
    open_world(&world, 1);
    for (size_t i = 0; i < 50; i++)
        step(&world);
    for (size_t i = 0; i < WEIR_COUNT(REPORTS); i++) {
        struct scale_size before = world.decision.size;
        policy()->report(world.state, &world.setting, &REPORTS[i], &world.decision);
        assert_memory_equal(&world.decision.size, &before, sizeof(before));
        assert_string_equal(world.decision.why, "unclear");
    }
    close_world(&world);
}

/* A batch takes the worker 4 s, a report 2 s, and the consumer 0.4 s: ten workers are needed. */
static void batches_that_are_slower_than_reports_are_as_slow_as_they_are(void **state)
{
    (void)state;
    static const struct scale_maker MAKES = {SCALE_POOL, 1, 2}, MAKES_ON = {SCALE_POOL, 0, 2};
    static const struct scale_taker TAKES = {1, 1.6, 0}, WAITS = {0, 2, 0};
    static const struct scale_report REPORTS[] = {
        {.span_s = 2, .workers = {1, 0}, .makers = &MAKES_ON, 1, .takers = &WAITS, 1},
        {.span_s = 2, .workers = {1, 0}, .makers = &MAKES, 1, .takers = &TAKES, 1},
    };
    struct world world = {.setting = PRICED, .need = 8};
    open_world(&world, 1);
    for (size_t i = 0; i < 20; i++)
        policy()->report(world.state, &world.setting, &REPORTS[i % 2], &world.decision);
    assert_true(world.decision.need > 9 && world.decision.need < 11);
    close_world(&world);
}

static void workers_that_are_killed_are_asked_for_again(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 8};
    open_world(&world, 1);
    for (size_t i = 0; i < 50; i++)
        step(&world);
    struct scale_size all = world.decision.size;
    for (size_t i = 0; i < 5; i++) { /* the reports are those of two that are left */
        world.decision.size = (struct scale_size){{2, 0}};
        step(&world);
        assert_memory_equal(&world.decision.size, &all, sizeof(all));
    }
    close_world(&world);
}

static void a_pool_that_was_starved_for_a_while_is_as_large_as_before(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world = {.setting = PRICED, .need = 16, .noise = NOISE};
        open_world(&world, seed);
        for (size_t i = 0; i < 60; i++)
            step(&world);
        for (size_t times = 0; times < 3; times++) {
            world.need = 16 * (2 + 2 * (double)times);
            for (size_t i = 0; i < 5; i++)
                step(&world);
            world.need = 16;
            for (size_t i = 0; i < 40; i++)
                step(&world);
            assert_true(is_near(world.decision.size.at[SCALE_POOL], 16));
        }
        close_world(&world);
    }
}

static void a_report_in_which_everything_hung_moves_nothing(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 8, .noise = NOISE};
    open_world(&world, 1);
    for (size_t i = 0; i < 60; i++)
        step(&world);
    struct scale_size before = world.decision.size;
    struct scale_maker makers[ROWS] = {0};
    for (uint32_t i = 0; i < before.at[SCALE_POOL]; i++)
        makers[i] = (struct scale_maker){SCALE_POOL, 1, REPORT_S};
    struct scale_taker taker = {before.at[SCALE_POOL], 1.8, 0};
    struct scale_report hung = {.span_s = REPORT_S,
                                .workers = {before.at[SCALE_POOL], 0},
                                .makers = makers,
                                .maker_count = before.at[SCALE_POOL],
                                .takers = &taker,
                                .taker_count = 1};
    policy()->report(world.state, &world.setting, &hung, &world.decision);
    assert_memory_equal(&world.decision.size, &before, sizeof(before));
    for (size_t i = 0; i < 60; i++) {
        step(&world);
        assert_memory_equal(&world.decision.size, &before, sizeof(before));
    }
    close_world(&world);
}

static void a_trainer_that_is_away_for_long_keeps_the_minimum_and_finds_its_workers_back(
    void **state)
{
    (void)state;
    static const struct scale_taker AWAY = {0};
    struct scale_report away = {
        .span_s = REPORT_S, .workers = {8, 0}, .takers = &AWAY, .taker_count = 1};
    struct world world = {.setting = PRICED, .need = 8};
    open_world(&world, 1);
    for (size_t i = 0; i < 50; i++)
        step(&world);
    for (size_t i = 0; i < 20; i++)
        policy()->report(world.state, &world.setting, &away, &world.decision);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 8);
    for (size_t i = 0; i < 80; i++)
        policy()->report(world.state, &world.setting, &away, &world.decision);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 1);
    assert_string_equal(world.decision.why, "away");
    step(&world);
    assert_int_equal(world.decision.size.at[SCALE_POOL], 8);
    close_world(&world);
}

/* ---- what it says ---- */

static void the_size_and_its_neighbours_are_among_the_options(void **state)
{
    (void)state;
    struct world world = {.setting = PRICED, .need = 8};
    bool has_size = false, has_more = false;
    open_world(&world, 1);
    for (size_t i = 0; i < 50; i++)
        step(&world);
    for (size_t i = 0; i < world.decision.option_count; i++) {
        const struct scale_option *option = &world.decision.options[i];
        has_size |= option->size.at[SCALE_POOL] == 8 &&
                    fabs(option->batch_s - 1.0 / RATE) < 0.0002 &&
                    fabs(option->money - 1000 / 3600.0 / RATE * (4.96 + 8 * 0.427)) < 0.0004;
        has_more |= option->size.at[SCALE_POOL] == 9;
    }
    assert_true(has_size && has_more);
    assert_true(fabs(world.decision.need - 8) < 0.05);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_near_the_knee_after_four_reports_and_stays),
        cmocka_unit_test(without_noise_it_is_there_after_four_and_does_not_move),
        cmocka_unit_test(consumers_that_become_faster_or_slower_are_followed_in_three_reports),
        cmocka_unit_test(workers_that_become_slower_are_followed),
        cmocka_unit_test(a_consumer_that_only_waits_gets_all_there_are),
        cmocka_unit_test(the_knee_of_a_pool_that_is_not_linear_is_found),
        cmocka_unit_test(what_is_lost_on_the_network_is_seen_although_workers_do_not_say_so),
        cmocka_unit_test(workers_that_always_say_that_they_are_busy_are_found_out_by_a_step_down),
        cmocka_unit_test(a_good_pair_of_pool_and_host_is_found_in_eight_reports),
        cmocka_unit_test(workers_on_the_host_that_bring_nothing_are_not_used),
        cmocka_unit_test(reports_that_say_nothing_change_nothing),
        cmocka_unit_test(batches_that_are_slower_than_reports_are_as_slow_as_they_are),
        cmocka_unit_test(workers_that_are_killed_are_asked_for_again),
        cmocka_unit_test(a_pool_that_was_starved_for_a_while_is_as_large_as_before),
        cmocka_unit_test(a_report_in_which_everything_hung_moves_nothing),
        cmocka_unit_test(
            a_trainer_that_is_away_for_long_keeps_the_minimum_and_finds_its_workers_back),
        cmocka_unit_test(the_size_and_its_neighbours_are_among_the_options),
    };
    return cmocka_run_group_tests_name("policy_rates", tests, NULL, NULL);
}
