/* The page of figures: its text, its order, what it escapes and leaves out. */
#include "orchestrator/monitoring/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *print(const struct figures *figures, struct weir_buf *out)
{
    orchestrator_figures_print(&figures, 1, out);
    return weir_buf_text(out);
}

static void measures_are_told_once_in_the_order_of_the_list(void **state)
{
    (void)state;
    WEIR_AUTO(figures) one = orchestrator_figures_new();
    WEIR_AUTO(figures) other = orchestrator_figures_new();
    WEIR_AUTO_BUF out = {0};
    FIGURE(one, erasures_open, 2, NULL);
    FIGURE(one, runs, 1, "b", "done");
    FIGURE(other, runs, 7, "a", "failed");
    FIGURE(other, runs, 3, "a", "done");
    FIGURE(other, build_info, 1, "0.1");
    const struct figures *const lists[] = {one, other};
    orchestrator_figures_print(lists, 2, &out);
    assert_string_equal(weir_buf_text(&out),
                        "# HELP weir_build_info 1; the version of the orchestrator that answers\n"
                        "# TYPE weir_build_info gauge\n"
                        "weir_build_info{version=\"0.1\"} 1\n"
                        "# HELP weir_runs_total Runs that have ended: done or failed\n"
                        "# TYPE weir_runs_total counter\n"
                        "weir_runs_total{pipeline=\"a\",state=\"done\"} 3\n"
                        "weir_runs_total{pipeline=\"a\",state=\"failed\"} 7\n"
                        "weir_runs_total{pipeline=\"b\",state=\"done\"} 1\n"
                        "# HELP weir_erasures_open Erasures without a receipt\n"
                        "# TYPE weir_erasures_open gauge\n"
                        "weir_erasures_open 2\n"
                        "# HELP weir_metrics_left_out Figures that are not on this page, because "
                        "there are too many\n"
                        "# TYPE weir_metrics_left_out gauge\n"
                        "weir_metrics_left_out 0\n");
}

static void of_equal_labels_the_first_is_kept(void **state)
{
    (void)state;
    WEIR_AUTO(figures) figures = orchestrator_figures_new();
    WEIR_AUTO_BUF out = {0};
    FIGURE(figures, service_up, 1, "storage");
    FIGURE(figures, service_up, 0, "storage");
    const char *text = print(figures, &out);
    assert_non_null(strstr(text, "weir_service_up{service=\"storage\"} 1\n"));
    assert_null(strstr(text, "weir_service_up{service=\"storage\"} 0\n"));
}

static void values_of_labels_are_escaped_and_mended(void **state)
{
    (void)state;
    WEIR_AUTO(figures) figures = orchestrator_figures_new();
    WEIR_AUTO_BUF out = {0};
    FIGURE(figures, dataset_bytes, 1, "a\"b\\c\nd{}=,\t\xc3\xa4\xff");
    FIGURE(figures, dataset_bytes, 2, "");
    const char *text = print(figures, &out);
    assert_non_null(
        strstr(text, "weir_dataset_bytes{dataset=\"a\\\"b\\\\c\\nd{}=,\t\xc3\xa4?\"} 1\n"));
    assert_non_null(strstr(text, "weir_dataset_bytes{dataset=\"\"} 2\n"));
}

static void numbers_are_whole_short_or_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } CASES[] = {{0, "0"},
                 {-3, "-3"},
                 {0.1, "0.1"},
                 {1e15 - 1, "999999999999999"},
                 {9007199254740993.0, "9007199254740992"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e300, "1e+300"}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO(figures) figures = orchestrator_figures_new();
        WEIR_AUTO_BUF out = {0};
        char line[80];
        FIGURE(figures, uptime, CASES[i].value, NULL);
        (void)snprintf(line, sizeof(line), "\nweir_uptime_seconds %s\n", CASES[i].text);
        assert_non_null(strstr(print(figures, &out), line));
    }
}

static void too_many_are_counted(void **state)
{
    (void)state;
    WEIR_AUTO(figures) figures = orchestrator_figures_new();
    WEIR_AUTO(figures) more = orchestrator_figures_new();
    WEIR_AUTO_BUF out = {0};
    char name[16];
    for (int i = 0; i < FIGURES_MAX + 5; i++) {
        (void)snprintf(name, sizeof(name), "d%d", i);
        FIGURE(figures, dataset_bytes, i, name);
    }
    FIGURE(more, erasures_open, 1, NULL);
    const struct figures *const lists[] = {figures, more};
    orchestrator_figures_print(lists, 2, &out);
    assert_non_null(strstr(weir_buf_text(&out), "\nweir_metrics_left_out 6\n"));
}

static void names_and_labels_are_as_prometheus_wants_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEASURES; i++) {
        const struct measure_about *about = &ORCHESTRATOR_MEASURES[i];
        size_t size = strlen(about->name);
        bool is_total = size > 6 && strcmp(about->name + size - 6, "_total") == 0;
        assert_int_equal(strncmp(about->name, "weir_", 5), 0);
        assert_int_equal(strspn(about->name, "abcdefghijklmnopqrstuvwxyz_"), size);
        assert_int_equal(is_total, about->kind == MEASURE_COUNTER);
        assert_null(strpbrk(about->help, "\\\n"));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(about->name, ORCHESTRATOR_MEASURES[k].name);
        for (size_t k = 1; k < MEASURE_LABELS_MAX; k++)
            assert_true(about->labels[k] == NULL || about->labels[k - 1] != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_are_told_once_in_the_order_of_the_list),
        cmocka_unit_test(of_equal_labels_the_first_is_kept),
        cmocka_unit_test(values_of_labels_are_escaped_and_mended),
        cmocka_unit_test(numbers_are_whole_short_or_exact),
        cmocka_unit_test(too_many_are_counted),
        cmocka_unit_test(names_and_labels_are_as_prometheus_wants_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
