/* Simulated pools: what comes out of them by hand. */
#include "benchmarks/pool/trial.h"

#include "core/base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct pool_costs COSTS = {
    .read_s = 0.05, .transfer_s = 0.05, .operator_s = {0.2, 0.1}, .operator_count = 2};

/* A consumer of 10 batches a second; each worker makes 2.5. */
static const struct pool_truth TRUTH = {
    .rates = pool_rates_even,
    .owner = &COSTS,
    .knee = 4,
    .consumer_s = 0.1,
    .queue_max = 20,
    .report_s = 100,
    .report_batches = INFINITY,
};

static void expect_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-3);
}

static struct pool *pool_of(const struct pool_truth *truth, uint32_t workers)
{
    struct pool *pool = weir_calloc(1, sizeof(*pool));
    pool_begin(pool, truth, 1);
    pool_order(pool, &(struct scale_size){.at = {workers}});
    return pool;
}

static void a_worker_makes_what_its_costs_allow(void **state)
{
    (void)state;
    struct pool *pool = pool_of(&TRUTH, 2);
    struct scale_report report = pool_run(pool);
    assert_int_equal(report.maker_count, 2);
    assert_int_equal(report.workers[SCALE_POOL], 2);
    expect_near(report.span_s, 100);
    for (size_t i = 0; i < report.maker_count; i++) {
        assert_true(fabs(report.makers[i].batches - 250) <= 1); /* whole ones */
        expect_near(report.makers[i].busy_s, 100);
    }
    assert_true(fabs(report.takers[0].batches - 500) <= 1);
    expect_near(report.takers[0].wait_s, 50); /* half of the time that it would take */
    free(pool);
}

static void workers_that_are_too_many_are_not_busy_all_the_time(void **state)
{
    (void)state;
    struct pool *pool = pool_of(&TRUTH, 8);
    (void)pool_run(pool); /* fills the queue */
    struct scale_report report = pool_run(pool);
    expect_near(report.makers[0].busy_s, 50);
    assert_true(fabs(report.takers[0].batches - 1000) <= 1);
    expect_near(report.takers[0].wait_s, 0);
    expect_near(report.takers[0].queued, 20);
    expect_near(pool->idle_s, 4 * 200);
    free(pool);
}

static void nothing_is_made_that_is_neither_taken_nor_queued(void **state)
{
    (void)state;
    struct pool_truth truth = TRUTH;
    truth.noise = 0.05;
    struct pool *pool = pool_of(&truth, 5);
    for (int i = 0; i < 20; i++)
        (void)pool_run(pool);
    double made = 0;
    for (size_t i = 0; i < 5; i++)
        made += pool->made[SCALE_POOL][i];
    expect_near(made, pool->taken + pool->queued);
    free(pool);
}

static void a_report_ends_after_so_many_batches(void **state)
{
    (void)state;
    struct pool_truth truth = TRUTH;
    truth.report_batches = 100;
    struct pool *pool = pool_of(&truth, 4);
    struct scale_report report = pool_run(pool);
    expect_near(report.takers[0].batches, 100);
    expect_near(report.span_s, 10);
    free(pool);
}

static void a_worker_starts_late_and_leaves_at_once(void **state)
{
    (void)state;
    struct pool_truth truth = TRUTH;
    truth.start_s = 150;
    struct pool *pool = pool_of(&truth, 2);
    pool->serving.at[SCALE_POOL] = 1; /* as if it had been there */
    pool->starts[0] = pool->starts[1];
    pool->start_count = 1;
    assert_int_equal(pool_run(pool).workers[SCALE_POOL], 1);
    assert_int_equal(pool_run(pool).maker_count, 2); /* it came in the middle */
    assert_int_equal(pool_run(pool).workers[SCALE_POOL], 2);
    pool_order(pool, &(struct scale_size){.at = {1}});
    assert_int_equal(pool_run(pool).workers[SCALE_POOL], 1);
    free(pool);
}

static void a_report_in_which_a_worker_starts_is_thrown_away_as_by_the_dispatcher(void **state)
{
    (void)state;
    struct pool_truth truth = TRUTH;
    truth.on_start = POOL_THROWN;
    truth.settle_s = 1;
    struct pool *pool = pool_of(&truth, 1);
    (void)pool_run(pool);
    pool->truth.start_s = 30;
    pool_order(pool, &(struct scale_size){.at = {3}});
    struct scale_report report = pool_run(pool);
    assert_int_equal(report.workers[SCALE_POOL], 3);
    expect_near(report.span_s, 100);
    expect_near(pool->now_s, 1 + 100 + 30 + 1 + 100);
    free(pool);
}

static void the_same_seed_makes_the_same_reports(void **state)
{
    (void)state;
    struct pool_truth truth = TRUTH;
    truth.noise = 0.05;
    struct pool *a = pool_of(&truth, 3), *b = pool_of(&truth, 3);
    for (int i = 0; i < 10; i++) {
        struct scale_report one = pool_run(a), other = pool_run(b);
        assert_true(one.takers[0].wait_s == other.takers[0].wait_s);
        assert_true(one.makers[2].batches == other.makers[2].batches);
    }
    free(a);
    free(b);
}

static void what_is_foretold_is_the_slowest_of_workers_cores_and_consumer(void **state)
{
    (void)state;
    struct pool_costs costs = COSTS;
    expect_near(pool_foretell(&costs, 0, 16), 40);
    expect_near(pool_foretell(&costs, 0.1, 16), 10);
    costs.cpu_s = 0.1;
    costs.cores = 2;
    expect_near(pool_foretell(&costs, 0, 4), 10);
    expect_near(pool_foretell(&costs, 0, 16), 20);
    expect_near(pool_rate(&TRUTH, &(struct scale_size){.at = {3}}), 7.5);
}

/* ---- what is said of a course ---- */

static const uint32_t COURSE[] = {1, 9, 4, 8, 9, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7, 8};

static void a_size_is_reached_when_it_stays(void **state)
{
    (void)state;
    struct trial_course *course = weir_calloc(1, sizeof(*course));
    double seconds;
    for (size_t i = 0; i < sizeof(COURSE) / sizeof(*COURSE); i++)
        course->steps[course->count++] = (struct trial_step){.at_s = 2.0 * (double)(i + 1),
                                                             .size.at = {COURSE[i]},
                                                             .is_settled = i >= 3,
                                                             .counts = true};
    assert_int_equal(trial_reports_until(course, 0, 0, trial_band_of(8), &seconds), 4);
    expect_near(seconds, 8);
    assert_int_equal(trial_reports_until(course, 0, 0, trial_band_of(20), &seconds), 0);
    /* Four changes in 24 s since it was settled: two that were undone. */
    expect_near(trial_flaps_an_hour(course), 2 * 3600 / 24.0);
    free(course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_makes_what_its_costs_allow),
        cmocka_unit_test(workers_that_are_too_many_are_not_busy_all_the_time),
        cmocka_unit_test(nothing_is_made_that_is_neither_taken_nor_queued),
        cmocka_unit_test(a_report_ends_after_so_many_batches),
        cmocka_unit_test(a_worker_starts_late_and_leaves_at_once),
        cmocka_unit_test(a_report_in_which_a_worker_starts_is_thrown_away_as_by_the_dispatcher),
        cmocka_unit_test(the_same_seed_makes_the_same_reports),
        cmocka_unit_test(what_is_foretold_is_the_slowest_of_workers_cores_and_consumer),
        cmocka_unit_test(a_size_is_reached_when_it_stays),
    };
    return cmocka_run_group_tests_name("pool_simulated", tests, NULL, NULL);
}
