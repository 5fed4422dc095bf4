/* The last operators run in trainers where the bytes that this saves cost more than the operators there. */
#include "preprocess/plan/planning.h"
#include "tests/support/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char YAML[] =
    "[{op: csv_text, field: 0}, {op: tokenize_words}, {op: tokenize_hash, buckets: 1000},"
    " {op: cast, to: u8}, {op: cast, to: f32}, {op: pad, length: 100}]";
static const uint8_t ORDER[] = {0, 1, 2, 3, 4, 5};

struct trial {
    struct test_chain test;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    struct placement_transport transport;
};

/* A row: 40 bytes of hashes become 10, 40 and, for 4000 ns, 400. A byte on the way costs each end 10 ns. */
static void begin(struct trial *trial)
{
    *trial = (struct trial){.costs = {{1e6, 1e6, 1e6, 1e4, 1e4},
                                      {1e6, 1e6, 1e6, 1e4, 1e4},
                                      {1e6, 1e6, 4e5, 1e4, 1e4},
                                      {1e6, 4e5, 1e5, 1e4, 1e4},
                                      {1e6, 1e5, 4e5, 1e4, 1e4},
                                      {4e7, 4e5, 4e6, 1e4, 1e4}},
                            .transport = {.ns = 1e8, .bytes = 1e7}};
    test_chain_open(&trial->test, YAML);
}

static struct placement choose(const struct trial *trial)
{
    return preprocess_placement_choose(trial->test.chain, ORDER, trial->costs, &trial->transport);
}

static void as_many_are_left_as_save_most(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    assert_int_equal(preprocess_chain_sinkable(trial.test.chain, ORDER), 3);
    struct placement placement = choose(&trial);
    assert_true(placement.is_chosen);
    assert_int_equal(placement.sunk, 2); /* one more would make rows longer again */
    assert_true(placement.saved_bytes == 390);
    assert_true(placement.saved_ns == 7800);
    assert_true(placement.host_ns == 4100);
    test_chain_close(&trial.test);
}

static void none_are_left_where_bytes_cost_less_than_they_do(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    trial.transport.ns = 3e7;
    struct placement placement = choose(&trial);
    assert_true(placement.is_chosen);
    assert_int_equal(placement.sunk, 0);
    assert_true(placement.saved_ns > 0 && placement.saved_ns < placement.host_ns);
    trial.transport.ns =
        5.4e7; /* it would pay, but by less than a twentieth of all that operators cost */
    assert_int_equal(choose(&trial).sunk, 0);
    test_chain_close(&trial.test);
}

static void nothing_is_chosen_before_enough_has_left_by_a_socket(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    trial.transport = (struct placement_transport){.ns = 1e8, .bytes = PLACEMENT_MEASURE_BYTES - 1};
    assert_false(choose(&trial).is_chosen);
    trial.transport = (struct placement_transport){.ns = 1e8, .bytes = 1e7, .lent = 2e7};
    assert_false(choose(&trial).is_chosen);
    trial.transport = (struct placement_transport){0};
    assert_false(choose(&trial).is_chosen);
    test_chain_close(&trial.test);
}

static void what_trainers_run_is_counted_on_and_chosen_once(void **state)
{
    (void)state;
    struct trial trial;
    struct planning planning;
    begin(&trial);
    const struct chain *chain = trial.test.chain;
    preprocess_planning_begin(&planning, chain, true); /* of the order alone */
    assert_false(preprocess_planning_add(&planning, chain, trial.costs, 1));
    assert_false(preprocess_planning_place(&planning, chain, &trial.transport, 1));
    for (size_t i = 0; i < 5; i++)
        assert_false(preprocess_planning_add(&planning, chain, trial.costs, 1));
    assert_true(preprocess_planning_place(&planning, chain, &trial.transport, 1));
    assert_int_equal(planning.placement.sunk, 2);
    assert_int_equal(planning.changes, 1);
    struct ordering_cost before = planning.costs[5];
    memset(&trial.costs[4], 0, 2 * sizeof(trial.costs[4]));
    assert_false(preprocess_planning_add(&planning, chain, trial.costs, 1 + PLANNING_SETTLE_MS));
    assert_true(planning.costs[5].rows == before.rows + 1e4);
    assert_true(planning.costs[5].ns == before.ns + 4e7);
    assert_false(preprocess_planning_place(&planning, chain, &trial.transport, 9999));
    test_chain_close(&trial.test);
}

static void pictures_are_left_with_their_planes(void **state)
{
    (void)state;
    struct test_chain test;
    const uint8_t order[] = {0, 1, 2, 3};
    /* normalize makes the planes, too: to_chw has cost nothing */
    const struct ordering_cost costs[CHAIN_OPERATORS_MAX] = {
        {1e9, 1e6, 1e6, 1e4, 1e4}, {1e8, 1e6, 3e6, 1e4, 1e4}, {1e6, 3e6, 1.2e7, 1e4, 1e4}};
    test_chain_open(
        &test, "[{op: decode_jpeg}, {op: resize, size: [10, 10]}, {op: normalize}, {op: to_chw}]");
    struct placement placement = preprocess_placement_choose(
        test.chain, order, costs, &(struct placement_transport){.ns = 1e9, .bytes = 1e7});
    assert_int_equal(placement.sunk, 2);
    test_chain_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_left_as_save_most),
        cmocka_unit_test(none_are_left_where_bytes_cost_less_than_they_do),
        cmocka_unit_test(nothing_is_chosen_before_enough_has_left_by_a_socket),
        cmocka_unit_test(what_trainers_run_is_counted_on_and_chosen_once),
        cmocka_unit_test(pictures_are_left_with_their_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
