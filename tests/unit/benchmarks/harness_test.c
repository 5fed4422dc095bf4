/* A figure is the median of its pairs; one below its bar fails the program; its line is JSON. */
#include "benchmarks/harness.h"

#include "core/base/memory.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { PASS, FAIL, BAD_USAGE = 2 };

static enum weir_status open_nothing(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    static const double ONE = 1;
    (void)err;
    if (access(directory, W_OK) != 0 || scale > ONE)
        return weir_fail(err, WEIR_IO, "no directory");
    *ret_state = NULL;
    return WEIR_OK;
}

static void close_nothing(void *state)
{
    assert_null(state);
}

static enum weir_status rate_of_two(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 2;
    return WEIR_OK;
}

static enum weir_status rate_of_one(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}

static enum weir_status no_rate(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)ret_rate;
    return weir_fail(err, WEIR_INTERNAL, "the two sides differ");
}

static const struct bench_figure FIGURES[] = {
    {.name = "t.above", .against = "x", .bar = 2, .ours = rate_of_two, .theirs = rate_of_one},
    {.name = "t.below", .against = "x", .bar = 2.1, .ours = rate_of_two, .theirs = rate_of_one},
    {.name = "t.reported", .against = "x", .ours = rate_of_one, .theirs = rate_of_two},
    {.name = "t.peer",
     .against = "x",
     .bar = 3,
     .peer = "dog",
     .ours = rate_of_two,
     .theirs = rate_of_one},
    {.name = "t.broken", .against = "x", .ours = no_rate, .theirs = rate_of_one},
};

static const struct bench BENCH = {
    .name = "t",
    .summary = "a test",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_nothing,
    .close = close_nothing,
};

/* The words after the program's name; what it says goes nowhere. */
static int run(const char *first, const char *second, const char *third)
{
    const char *words[] = {"bench_t", first, second, third, NULL};
    int argc = 0, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), code;

    while (words[argc] != NULL)
        argc++;
    fflush(NULL);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    code = bench_main(&BENCH, argc, (char **)(uintptr_t)words);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(nowhere);
    return code;
}

static void a_figure_below_its_bar_fails_the_program(void **state)
{
    (void)state;
    assert_int_equal(run("t.above", NULL, NULL), PASS);
    assert_int_equal(run("t.below", NULL, NULL), FAIL);
    assert_int_equal(run("t.reported", NULL, NULL), PASS);
    assert_int_equal(run("t.broken", NULL, NULL), FAIL);
    assert_int_equal(run(NULL, NULL, NULL), FAIL);
}

static void what_is_not_there_is_bad_usage(void **state)
{
    (void)state;
    assert_int_equal(run("t.abbove", NULL, NULL), BAD_USAGE);
    assert_int_equal(run("--runs", "0", NULL), BAD_USAGE);
    assert_int_equal(run("--scale", "0", NULL), BAD_USAGE);
    assert_int_equal(run("--scale", "1x", NULL), BAD_USAGE);
    assert_int_equal(run("t.above", "--scale", "0.5"), PASS);
}

static void figures_against_other_products_are_left_out_before_anything_is_opened(void **state)
{
    (void)state;
    assert_int_equal(run("t.broken", "--peer", "all"), PASS);
    assert_int_equal(run("t.below", "--peer", "cat"), PASS);
    assert_int_equal(run("t.peer", "--peer", "dog"), FAIL);
    assert_int_equal(run("t.peer", "--peer", "all"), FAIL);
}

static void the_median_stands_in_the_middle_of_the_pairs(void **state)
{
    double odd[] = {9, 1, 4}, even[] = {8, 1, 2, 4};
    struct bench_spread spread = bench_spread_of(odd, 3);

    (void)state;
    assert_true(spread.median == 4 && spread.min == 1 && spread.max == 9);
    spread = bench_spread_of(even, 4);
    assert_true(spread.median == 3 && spread.min == 1 && spread.max == 8);
}

static void the_line_of_a_figure_is_json_whatever_it_is_against(void **state)
{
    static const struct bench_figure ODD = {
        .name = "t.odd", .against = "\"cat\" \\ of\ta \xe2\x82\xac", .unit = "cats/s", .bar = 0.5};
    static const double OURS[] = {1, 3, 4}, THEIRS[] = {2, 4, 4};
    WEIR_AUTO_BUF line = {0};
    json_t *parsed;

    (void)state;
    bench_figure_json(&ODD, &(struct bench_pairs){OURS, THEIRS, WEIR_COUNT(OURS)}, &line);
    parsed = json_loadb((const char *)line.at, line.size, 0, NULL);
    assert_non_null(parsed);
    assert_string_equal(json_string_value(json_object_get(parsed, "bench")), "t.odd");
    assert_string_equal(json_string_value(json_object_get(parsed, "against")), ODD.against);
    assert_true(json_real_value(json_object_get(parsed, "ratio")) == 0.75);
    assert_int_equal(json_integer_value(json_object_get(parsed, "runs")), 3);
    assert_true(json_is_true(json_object_get(parsed, "pass")));
    assert_string_equal(json_string_value(json_object_get(parsed, "unit")), "cats/s");
    assert_true(json_real_value(json_object_get(parsed, "tolerance")) == 0.1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(parsed, "ours"), 1)), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(parsed, "theirs"), 0)), 2);
    json_decref(parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_figure_below_its_bar_fails_the_program),
        cmocka_unit_test(what_is_not_there_is_bad_usage),
        cmocka_unit_test(figures_against_other_products_are_left_out_before_anything_is_opened),
        cmocka_unit_test(the_median_stands_in_the_middle_of_the_pairs),
        cmocka_unit_test(the_line_of_a_figure_is_json_whatever_it_is_against),
    };
    return cmocka_run_group_tests_name("benchmarks: harness", tests, NULL, NULL);
}
