/* Budgets: what counts, since when, and when it is too much. */
#include "orchestrator/config/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/attributes.h"

static enum weir_status read_text(const char *text, struct budget *budget, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    assert_int_equal(weir_yaml_parse("b.yaml", weir_bytes_of(text), &document, err), WEIR_OK);
    return orchestrator_budget_read(weir_yaml_root(document), "budget", budget, err);
}

static void a_day_begins_at_midnight_and_a_total_at_the_beginning(void **unused)
{
    (void)unused;
    const int64_t noon = INT64_C(1704110400000000), midnight = INT64_C(1704067200000000);
    assert_int_equal(orchestrator_budget_since(&(struct budget){.per = BUDGET_DAY}, noon),
                     midnight);
    assert_int_equal(orchestrator_budget_since(&(struct budget){.per = BUDGET_DAY}, midnight),
                     midnight);
    assert_int_equal(orchestrator_budget_since(&(struct budget){.per = BUDGET_TOTAL}, noon), 0);
}

static void the_limit_that_is_reached_first_counts(void **unused)
{
    (void)unused;
    const struct orchestrator_prices prices = {.cpu_hour = 3600};
    const struct budget both = {.money = 10, .cpu_seconds = 100}, seconds = {.cpu_seconds = 100};
    struct orchestrator_cost spent = {.trainer_cpu_ns = INT64_C(4000000000),
                                      .worker_cpu_ns = INT64_C(5999999999)};
    assert_false(orchestrator_budget_is_spent(&both, &prices, &spent));
    spent.worker_cpu_ns++; /* ten seconds, at 1 a second */
    assert_true(orchestrator_budget_is_spent(&both, &prices, &spent));
    assert_false(orchestrator_budget_is_spent(&seconds, &prices, &spent));
    spent.trainer_cpu_ns = INT64_C(94000000000);
    assert_true(orchestrator_budget_is_spent(&seconds, &prices, &spent));
    assert_false(orchestrator_budget_is_spent(&(struct budget){0}, &prices, &spent));
}

static void a_budget_that_limits_nothing_is_a_mistake(void **unused)
{
    (void)unused;
    struct budget budget;
    struct weir_error err;
    assert_int_equal(orchestrator_budget_read(NULL, "budget", &budget, &err), WEIR_OK);
    assert_false(orchestrator_budget_is_set(&budget));
    assert_int_equal(read_text("{per: day}", &budget, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "b.yaml:1"));
    assert_int_equal(read_text("{cpu_second: 5}", &budget, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "cpu_seconds"));
    assert_int_equal(read_text("{money: 5, per: day, then: warn}", &budget, &err), WEIR_OK);
    assert_true(budget.money == 5 && budget.per == BUDGET_DAY && budget.then == BUDGET_WARN);
}

static void the_system_file_names_pipelines_and_all_of_them(void **unused)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) wrong = NULL;
    struct weir_error err;
    const char *text = "{clicks: {gpu_seconds: 5}, default: {money: 2}, all: {money: 9, per: day}}";
    (void)unused;
    assert_int_equal(weir_yaml_parse("s.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    const struct weir_yaml_node *budgets = weir_yaml_root(document);
    assert_int_equal(orchestrator_budgets_check(budgets, NULL, &err), WEIR_OK);
    struct budget clicks = orchestrator_budgets_find(budgets, "clicks", "default");
    assert_true(clicks.gpu_seconds == 5 && clicks.money == 0);
    assert_true(orchestrator_budgets_find(budgets, "other", "default").money == 2);
    assert_true(orchestrator_budgets_find(budgets, "all", NULL).money == 9);
    struct budget none = orchestrator_budgets_find(NULL, "other", "default");
    assert_false(orchestrator_budget_is_set(&none));
    const struct orchestrator_cost spent = {.gpu_ns = INT64_C(5000000000)};
    assert_true(orchestrator_budget_is_spent(&clicks, &(struct orchestrator_prices){0}, &spent));
    text = "{clicks: {money: 0}}";
    assert_int_equal(weir_yaml_parse("s.yaml", weir_bytes_of(text), &wrong, &err), WEIR_OK);
    assert_int_equal(orchestrator_budgets_check(weir_yaml_root(wrong), NULL, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "s.yaml:1:"));
}

static enum weir_status check_prices(const char *text, const struct orchestrator_prices *prices,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    assert_int_equal(weir_yaml_parse("b.yaml", weir_bytes_of(text), &document, err), WEIR_OK);
    return orchestrator_budget_check_prices(weir_yaml_root(document), "budget", prices, err);
}

static void money_that_nothing_costs_is_no_limit(void **unused)
{
    static const char MONEY[] = "{money: 5}";
    const struct orchestrator_prices none = {.worker_hour = 1, .host_hour = 1, .trainer_hour = 1};
    const struct orchestrator_prices some[] = {
        {.cpu_hour = 1}, {.gpu_hour = 1}, {.gigabyte_read = 1}, {.gigabyte_sent = 1}};
    struct weir_error err;
    (void)unused;
    assert_int_equal(orchestrator_budget_check_prices(NULL, "budget", &none, &err), WEIR_OK);
    assert_int_equal(check_prices("{gpu_seconds: 5}", &none, &err), WEIR_OK);
    assert_int_equal(check_prices(MONEY, NULL, &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(some); i++)
        assert_int_equal(check_prices(MONEY, &some[i], &err), WEIR_OK);
    assert_int_equal(check_prices(MONEY, &none, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "b.yaml:1:9: budget.money: expected prices"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_begins_at_midnight_and_a_total_at_the_beginning),
        cmocka_unit_test(the_limit_that_is_reached_first_counts),
        cmocka_unit_test(the_system_file_names_pipelines_and_all_of_them),
        cmocka_unit_test(a_budget_that_limits_nothing_is_a_mistake),
        cmocka_unit_test(money_that_nothing_costs_is_no_limit),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
