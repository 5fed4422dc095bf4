/* Plots of answers: which model was in use, which values share a window, which check fired. */
#include "cli/plots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static json_t *parsed(const char *json)
{
    json_error_t problem;
    json_t *answer = json_loads(json, 0, &problem);
    assert_non_null(answer);
    return answer;
}

/* An evaluation `e` by accuracy of one month of 2002. */
#define ON(month, next, value)                                       \
    "{\"name\":\"e\",\"metric\":\"accuracy\",\"from\":\"2002-" month \
    "-01T00:00:00Z\",\"to\":\"2002-" next "-01T00:00:00Z\",\"value\":" value "}"

static const char TRIGGERS[] =
    "[{\"trigger\":1,\"until\":\"2002-01-31T10:00:00Z\",\"evaluations\":[" ON("01", "02", "1") "," ON(
        "02", "03",
        "0.5") "," ON("03", "04",
                      "0.25") "]},"
                              "{\"trigger\":2,\"until\":\"2002-02-28T10:00:00Z\",\"evaluations\":[" ON(
                                  "03", "04", "0.75") "," ON("02", "03",
                                                             "0.9") "," ON("04", "05",
                                                                           "\"undefined\"") "]}]";

static const struct cli_measured ACCURACY = {"e", "accuracy", "Accuracy"};

static void the_model_in_use_is_the_newest_whose_samples_lie_before_the_window(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out, .blocks = true};
    json_t *triggers = parsed(TRIGGERS);
    (void)state;
    cli_plot_in_use(&page, triggers, &ACCURACY);
    cli_plot_models(&page, triggers, &ACCURACY);
    json_decref(triggers);
    assert_string_equal(weir_buf_text(&out), "Accuracy           ▁█  0.5 to 0.75, newest 0.75\n"
                                             "Accuracy of each model by window of e, * in use:\n"
                                             "           2002-01-01  2002-03-01\n"
                                             "trigger 1  █1.00 ▃.500*▁.250\n"
                                             "trigger 2        ▇.900 ▆.750*\n");
}

static void a_metric_that_nothing_was_measured_by_is_not_drawn(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    const struct cli_measured other = {"e", "rmse", "RMSE"};
    json_t *triggers = parsed(TRIGGERS);
    (void)state;
    cli_plot_in_use(&page, triggers, &other);
    cli_plot_models(&page, triggers, &other);
    cli_plot_models(&page, NULL, &other);
    cli_plot_checks(&page, NULL);
    cli_plot_policies(&page, triggers);
    json_decref(triggers);
    assert_int_equal(out.size, 0);
}

static void of_many_models_the_newest_are_drawn(void **state)
{
    WEIR_AUTO_BUF json = {0}, out = {0};
    struct cli_page page = {.out = &out};
    (void)state;
    for (int i = 1; i <= 25; i++)
        weir_buf_printf(&json, "%s{\"trigger\":%d,\"evaluations\":[" ON("01", "02", "0.5") "]}",
                        i == 1 ? "[" : ",", i);
    weir_buf_append_text(&json, "]");
    json_t *triggers = parsed(weir_buf_text(&json));
    cli_plot_models(&page, triggers, &ACCURACY);
    json_decref(triggers);
    assert_null(strstr(weir_buf_text(&out), "trigger 5 "));
    assert_non_null(strstr(weir_buf_text(&out), "trigger 6 "));
    assert_non_null(strstr(weir_buf_text(&out), "trigger 25 "));
}

static void each_number_of_a_check_is_a_line_with_its_newest_limit(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out, .blocks = true};
    json_t *checks = parsed(
        "[{\"statistics\":[{\"statistic\":\"mmd\",\"limit_of\":\"p_value\",\"p_value\":0.5,\"limit\":0.01},"
        "{\"statistic\":\"ks\",\"distance\":0.1,\"limit\":0.3}]},"
        "{\"statistics\":[{\"statistic\":\"ks\",\"distance\":0.4,\"limit\":0.2},"
        "{\"statistic\":\"ks\",\"distance\":null}],\"trigger\":2},"
        "{\"metric\":\"accuracy\",\"value\":0.5,\"criteria\":[{\"criterion\":\"threshold\",\"limit\":0.6}],"
        "\"avoidable\":3,\"avoidable_limit\":40},"
        "{\"area\":7,\"limit\":10},{\"detectors\":[{\"detector\":\"ddm\",\"found\":2,\"limit\":3}]}]");
    (void)state;
    cli_plot_checks(&page, checks);
    json_decref(checks);
    assert_string_equal(weir_buf_text(&out),
                        "mmd, p value      █  0.5, limit 0.01 (▁), 0 fired\n"
                        "ks                ▁█  0.1 to 0.4, newest 0.4, limit 0.2 (▃), 1 fired\n"
                        "                   ▲\n"
                        "accuracy          ▁  0.5, limit 0.6 (█), 0 fired\n"
                        "avoidable         ▁  3, limit 40 (█), 0 fired\n"
                        "cost of waiting   ▁  7, limit 10 (█), 0 fired\n"
                        "ddm               ▁  2, limit 3 (█), 0 fired\n");
}

static void a_policy_is_the_mean_over_its_seeds(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    json_t *comparison = parsed(
        "{\"judge\":{\"metric\":\"accuracy\"},\"policies\":[{\"policy\":\"once\"},{\"policy\":\"often\"}],"
        "\"cells\":[{\"policy\":\"once\",\"windows\":[{\"from\":\"a\",\"until\":\"b\",\"value\":0.5},"
        "{\"from\":\"b\",\"until\":\"c\",\"value\":null}]},"
        "{\"policy\":\"once\",\"windows\":[{\"from\":\"a\",\"until\":\"b\",\"value\":0.25}]},"
        "{\"policy\":\"often\",\"windows\":[{\"from\":\"b\",\"until\":\"c\",\"value\":1}]}]}");
    (void)state;
    cli_plot_policies(&page, comparison);
    json_decref(comparison);
    assert_string_equal(weir_buf_text(&out), "accuracy of each policy by window:\n"
                                             "       a    b\n"
                                             "once   .375\n"
                                             "often       1.00\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_in_use_is_the_newest_whose_samples_lie_before_the_window),
        cmocka_unit_test(a_metric_that_nothing_was_measured_by_is_not_drawn),
        cmocka_unit_test(of_many_models_the_newest_are_drawn),
        cmocka_unit_test(each_number_of_a_check_is_a_line_with_its_newest_limit),
        cmocka_unit_test(a_policy_is_the_mean_over_its_seeds),
    };
    return cmocka_run_group_tests_name("cli plots", tests, NULL, NULL);
}
