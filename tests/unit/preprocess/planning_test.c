/* An order is measured, tried, and kept only if it was cheaper in truth. */
#include "preprocess/plan/planning.h"
#include "tests/support/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char YAML[] =
    "[{op: csv_fields, fields: [0]}, {op: cast, to: f64}, {op: filter, max: 3}]";

/* As many nanoseconds, bytes and rows as 100 ms of the operators take; the cast costs `cast_share` of them. */
static void measure(double cast_share, struct ordering_cost costs[CHAIN_OPERATORS_MAX])
{
    const double ns = PLANNING_MEASURE_NS / 2.0;
    memset(costs, 0, CHAIN_OPERATORS_MAX * sizeof(*costs));
    costs[0] = (struct ordering_cost){ns * 0.1, 1e6, 4e5, 1e5, 1e5};
    costs[1] = (struct ordering_cost){ns * cast_share, 4e5, 8e5, 1e5, 1e5};
    costs[2] = (struct ordering_cost){ns * (0.9 - cast_share), 8e5, 0, 1e5, 2e4};
}

struct trial {
    struct test_chain test;
    struct planning planning;
    int64_t now_ms;
};

static void begin(struct trial *trial, bool is_fixed)
{
    *trial = (struct trial){.now_ms = 1};
    test_chain_open(&trial->test, YAML);
    preprocess_planning_begin(&trial->planning, trial->test.chain, is_fixed);
}

static bool add(struct trial *trial, const struct ordering_cost *costs)
{
    return preprocess_planning_add(&trial->planning, trial->test.chain, costs, trial->now_ms);
}

static void expect_order(const struct trial *trial, uint8_t a, uint8_t b, uint8_t c)
{
    const uint8_t expected[] = {a, b, c};
    assert_memory_equal(trial->planning.order, expected, sizeof(expected));
}

/* The filter first: of a cast that costs most of it, four fifths are saved. */
static void try_it(struct trial *trial)
{
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    begin(trial, false);
    measure(0.8, costs);
    assert_false(add(trial, costs));
    assert_int_equal(trial->planning.state, PLANNING_MEASURING);
    assert_true(add(trial, costs));
    assert_int_equal(trial->planning.state, PLANNING_TRYING);
    expect_order(trial, 0, 2, 1);
    assert_true(trial->planning.choice.is_best);
    assert_true(trial->planning.choice.best_ns < 0.5 * trial->planning.choice.present_ns);
}

static void a_cheaper_order_is_tried_and_stays(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    try_it(&trial);
    measure(0.3, costs);
    for (size_t i = 0; i < 3; i++)
        costs[i].rows *= 3; /* so much cheaper is a row */
    trial.now_ms += PLANNING_SETTLE_MS;
    assert_false(add(&trial, costs));
    assert_false(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_CHANGED);
    expect_order(&trial, 0, 2, 1);
    assert_int_equal(trial.planning.changes, 1);
    test_chain_close(&trial.test);
}

static void an_order_that_was_no_cheaper_is_given_up(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    try_it(&trial);
    measure(0.3, costs);
    trial.now_ms += PLANNING_SETTLE_MS;
    assert_false(add(&trial, costs));
    assert_true(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_REVERTED);
    expect_order(&trial, 0, 1, 2);
    assert_int_equal(trial.planning.changes, 2);
    trial.now_ms += PLANNING_SETTLE_MS;
    for (size_t i = 0; i < 10; i++)
        assert_false(add(&trial, costs));
    test_chain_close(&trial.test);
}

static void what_was_spent_before_workers_took_it_up_does_not_count(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    try_it(&trial);
    measure(0.8, costs);
    trial.now_ms += PLANNING_SETTLE_MS - 1;
    for (size_t i = 0; i < 10; i++)
        assert_false(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_TRYING);
    test_chain_close(&trial.test);
}

static void what_promises_too_little_stays_as_written(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    begin(&trial, false);
    measure(0.8, costs);
    costs[0].ns *= 1000; /* reading the record is all that counts */
    assert_false(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_WRITTEN);
    expect_order(&trial, 0, 1, 2);
    test_chain_close(&trial.test);
}

/* Adds `costs` until the plan has been looked at again; returns true when the order has changed. */
static bool go_on(struct trial *trial, const struct ordering_cost *costs)
{
    double before = trial->planning.review_ns;
    bool has_changed = false;
    while (!has_changed && trial->planning.review_ns == before)
        has_changed = add(trial, costs);
    return has_changed;
}

static void what_is_settled_is_looked_at_again_when_data_drift(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX], later[CHAIN_OPERATORS_MAX];
    begin(&trial, false);
    measure(0.8, costs);
    costs[0].ns *= 1000; /* reading the record is all that counts … */
    assert_false(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_WRITTEN);
    assert_false(go_on(&trial, costs));
    assert_true(trial.planning.review_ns == 2 * PLANNING_REVIEW_NS);
    measure(0.8, later); /* … and no longer does */
    while (!go_on(&trial, later))
        assert_int_equal(trial.planning.state, PLANNING_WRITTEN);
    assert_int_equal(trial.planning.state, PLANNING_TRYING);
    expect_order(&trial, 0, 2, 1);
    test_chain_close(&trial.test);
}

/* Two filters, each behind a cast of another column: at first the second one keeps all. */
static const char TWICE[] =
    "[{op: csv_fields, fields: [0], as: a}, {op: csv_fields, fields: [1], as: b},"
    " {op: csv_fields, fields: [2], as: c}, {op: csv_fields, fields: [3], as: d},"
    " {op: cast, on: c, to: f64}, {op: filter, on: a, max: 3},"
    " {op: cast, on: d, to: f64}, {op: filter, on: b, max: 3}]";

static void measure_twice(double second_keeps, double rows,
                          struct ordering_cost costs[CHAIN_OPERATORS_MAX])
{
    const double ns = PLANNING_MEASURE_NS;
    memset(costs, 0, CHAIN_OPERATORS_MAX * sizeof(*costs));
    for (size_t i = 0; i < 4; i++)
        costs[i] = (struct ordering_cost){ns * 0.02, 1e6, 4e5, rows, rows};
    costs[4] = costs[6] = (struct ordering_cost){ns * 0.4, 4e5, 8e5, rows, rows};
    costs[5] = (struct ordering_cost){ns * 0.1, 4e5, 0, rows, rows * 0.2};
    costs[7] = (struct ordering_cost){ns * 0.1, 4e5, 0, rows, rows * second_keeps};
}

static void a_trial_that_fails_gives_back_the_order_that_ran_before(void **state)
{
    (void)state;
    static const uint8_t CHANGED[] = {0, 1, 2, 3, 5, 4, 6, 7}, TRIED[] = {0, 1, 2, 3, 7, 5, 4, 6};
    struct trial trial = {.now_ms = 1};
    struct planning *planning = &trial.planning;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    test_chain_open(&trial.test, TWICE);
    preprocess_planning_begin(planning, trial.test.chain, false);
    measure_twice(1, 1e5, costs);
    assert_true(add(&trial, costs));
    assert_memory_equal(planning->order, CHANGED, sizeof(CHANGED));
    trial.now_ms += PLANNING_SETTLE_MS;
    measure_twice(1, 3e5, costs);
    assert_false(add(&trial, costs));
    assert_int_equal(planning->state, PLANNING_CHANGED);
    measure_twice(0.1, 3e5, costs);
    while (!add(&trial, costs))
        assert_int_equal(planning->state, PLANNING_CHANGED);
    assert_memory_equal(planning->order, TRIED, sizeof(TRIED));
    trial.now_ms += PLANNING_SETTLE_MS;
    measure_twice(0.1, 1e5, costs); /* dearer than it was */
    assert_true(add(&trial, costs));
    assert_int_equal(planning->state, PLANNING_CHANGED);
    assert_memory_equal(planning->order, CHANGED, sizeof(CHANGED));
    assert_true(planning->review_ns == 2 * PLANNING_REVIEW_NS);
    test_chain_close(&trial.test);
}

static void nothing_is_chosen_where_the_order_is_fixed(void **state)
{
    (void)state;
    struct trial trial;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    begin(&trial, true);
    measure(0.8, costs);
    for (size_t i = 0; i < 10; i++)
        assert_false(add(&trial, costs));
    assert_int_equal(trial.planning.state, PLANNING_FIXED);
    test_chain_close(&trial.test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cheaper_order_is_tried_and_stays),
        cmocka_unit_test(an_order_that_was_no_cheaper_is_given_up),
        cmocka_unit_test(what_was_spent_before_workers_took_it_up_does_not_count),
        cmocka_unit_test(what_promises_too_little_stays_as_written),
        cmocka_unit_test(what_is_settled_is_looked_at_again_when_data_drift),
        cmocka_unit_test(a_trial_that_fails_gives_back_the_order_that_ran_before),
        cmocka_unit_test(nothing_is_chosen_where_the_order_is_fixed),
    };
    return cmocka_run_group_tests_name("planning", tests, NULL, NULL);
}
