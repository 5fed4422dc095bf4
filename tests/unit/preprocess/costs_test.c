/* Rows of costs and their sum: told again and again, folded, and never counted twice. */
#include "core/base/rng.h"
#include "preprocess/dispatcher/costs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OPERATORS = 3, SESSIONS = 4 * POOL_CREW, TELLINGS = 20000, KEY = 7 };

/* A cost that has grown by chance since it was told last. */
static struct dispatcher_cost grown(const struct dispatcher_cost *last, struct weir_rng *rng)
{
    struct dispatcher_cost cost = *last;
    cost.cpu_ns += (int64_t)weir_rng_below(rng, 1000);
    cost.bytes_sent += weir_rng_below(rng, 1000);
    cost.kept.key = KEY;
    cost.kept.hits += weir_rng_below(rng, 1000);
    for (size_t i = 0; i < OPERATORS; i++) {
        cost.of[i].ns += (int64_t)weir_rng_below(rng, 1000);
        cost.of[i].kept += weir_rng_below(rng, 1000);
    }
    return cost;
}

static void add(struct dispatcher_cost *sum, const struct dispatcher_cost *cost)
{
    sum->cpu_ns += cost->cpu_ns;
    sum->bytes_sent += cost->bytes_sent;
    sum->kept.key = cost->kept.key;
    sum->kept.hits += cost->kept.hits;
    for (size_t i = 0; i < OPERATORS; i++) {
        sum->of[i].ns += cost->of[i].ns;
        sum->of[i].kept += cost->of[i].kept;
    }
}

/* Tells costs of sessions drawn at random. The caller's. */
static struct dispatcher_cost *tell_all(struct dispatcher_costs *costs)
{
    struct dispatcher_cost *told = calloc(SESSIONS, sizeof(*told));
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    preprocess_costs_have(costs, OPERATORS);
    for (size_t i = 0; i < SESSIONS; i++)
        told[i].session = i + 1;
    for (size_t i = 0; i < TELLINGS; i++) {
        struct dispatcher_cost *cost = &told[i < SESSIONS ? i : weir_rng_below(&rng, SESSIONS)];
        *cost = grown(cost, &rng);
        preprocess_costs_put(costs, cost);
    }
    return told;
}

static void a_row_is_what_was_told_last_and_the_sum_is_that_of_all_rows(void **state)
{
    struct dispatcher_costs costs = {0};
    struct dispatcher_cost sum = {0};
    (void)state;
    struct dispatcher_cost *told = tell_all(&costs);
    assert_int_equal(costs.count, SESSIONS);
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct dispatcher_cost row = preprocess_costs_of(&costs, told[i].session);
        assert_memory_equal(&row, &told[i], sizeof(row));
        add(&sum, &told[i]);
    }
    assert_memory_equal(&costs.total, &sum, sizeof(sum));
    const struct dispatcher_cost none = preprocess_costs_of(&costs, SESSIONS + 1);
    assert_true(none.session == SESSIONS + 1 && none.cpu_ns == 0 && none.of[0].ns == 0);
    free(told);
    preprocess_costs_fini(&costs);
}

static void sessions_that_are_over_are_one_row_and_the_sum_stays(void **state)
{
    struct dispatcher_costs costs = {0};
    struct pool pool = {0};
    bool is_known;
    (void)state;
    struct dispatcher_cost *told = tell_all(&costs);
    const struct pool_beat beat = {.name = "worker-1", .endpoint = "ipc://1", .session = SESSIONS};
    assert_true(preprocess_pool_hear(&pool, &beat, 0, &is_known) >= 0);
    const struct dispatcher_cost sum = costs.total;
    preprocess_costs_fold(&costs, &pool);
    assert_true(costs.is_folded);
    assert_int_equal(costs.count, 2);
    assert_memory_equal(&costs.total, &sum, sizeof(sum));
    const struct dispatcher_cost lives = preprocess_costs_of(&costs, SESSIONS);
    assert_memory_equal(&lives, &told[SESSIONS - 1], sizeof(lives));
    const struct dispatcher_cost over = preprocess_costs_of(&costs, 0);
    assert_int_equal(over.cpu_ns + lives.cpu_ns, sum.cpu_ns);
    free(told);
    preprocess_costs_fini(&costs);
    preprocess_pool_fini(&pool);
}

static void a_row_is_taken_to_be_stored_once_unless_it_is_put_back_or_told_again(void **state)
{
    struct dispatcher_costs costs = {0}, taken, none;
    struct dispatcher_cost cost = {.session = 1, .cpu_ns = 1, .unsaved = true};
    const struct dispatcher_cost stored = {.session = 2, .cpu_ns = 2};
    (void)state;
    preprocess_costs_put(&costs, &cost);
    preprocess_costs_put(&costs, &stored);
    preprocess_costs_take_unsaved(&costs, &taken);
    assert_int_equal(taken.count, 1);
    assert_int_equal(preprocess_costs_at(&taken, 0).session, 1);
    assert_false(preprocess_costs_are_unsaved(&costs));
    preprocess_costs_put_back(&costs, &taken);
    preprocess_costs_fini(&taken);
    preprocess_costs_take_unsaved(&costs, &taken);
    assert_int_equal(taken.count, 1);
    preprocess_costs_take_unsaved(&costs, &none);
    assert_int_equal(none.count, 0);
    preprocess_costs_put(&costs, &cost);
    assert_true(preprocess_costs_at(&costs, 0).unsaved);
    assert_int_equal(costs.total.cpu_ns, 3);
    preprocess_costs_fini(&taken);
    preprocess_costs_fini(&none);
    preprocess_costs_fini(&costs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_what_was_told_last_and_the_sum_is_that_of_all_rows),
        cmocka_unit_test(sessions_that_are_over_are_one_row_and_the_sum_stays),
        cmocka_unit_test(a_row_is_taken_to_be_stored_once_unless_it_is_put_back_or_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
