/* Grids, the cells that begin next, and what cells say together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "orchestrator/comparing/grid.h"
#include "orchestrator/comparing/overlay.h"
#include "orchestrator/comparing/starts.h"
#include "orchestrator/comparing/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- grids ---- */

#define BASE                                                                           \
    "pipeline: {name: base, mode: replay}\n"                                           \
    "datasets: [{name: d, source: {path: x, format: csv}, time: {from: mtime}}]\n"     \
    "trigger: {policy: amount, samples: 10}\n"                                         \
    "selection: {policy: new_data, seed: 9}\n"                                         \
    "preprocess: {operators: [{op: csv_fields, fields: [a]}], batch: {samples: 16}}\n" \
    "training: {model: linear, loss: logistic, epochs: 2, seed: 9}\n"                  \
    "evaluation: [{name: next, strategy: slicing, every: 1d, metrics: [accuracy, log_loss]}]\n"
#define HEAD "comparison: g\nbase: base.yaml\n"
#define AXES                                                      \
    "axes:\n"                                                     \
    "  training:\n"                                               \
    "    more: {epochs: 5, loss: null}\n"                         \
    "    net: {program: net, options: {width: 5, name: \"5\"}}\n" \
    "  trigger:\n"                                                \
    "    daily: {policy: time, every: 1d}\n"                      \
    "    ten: {samples: 20}\n"
#define JUDGE "judge: {evaluation: next, metric: accuracy}\n"

static enum weir_status parse(const char *text, struct comparison_grid **ret_grid,
                              struct weir_error *err)
{
    const struct grid_files files = {"g.yaml", weir_bytes_of(text), "base.yaml",
                                     weir_bytes_of(BASE)};
    return orchestrator_grid_parse(&files, ret_grid, err);
}

static struct comparison_grid *parsed(const char *text)
{
    struct comparison_grid *grid = NULL;
    struct weir_error err = {.text = ""};
    enum weir_status status = parse(text, &grid, &err);
    if (status != WEIR_OK)
        print_error("%s\n", err.text);
    assert_int_equal(status, WEIR_OK);
    return grid;
}

static void assert_refused(const char *text, const char *said)
{
    WEIR_AUTO(comparison_grid) grid = NULL;
    struct weir_error err = {.text = ""};
    assert_int_equal(parse(text, &grid, &err), WEIR_INVALID);
    if (strstr(err.text, said) == NULL)
        print_error("expected %s, found %s\n", said, err.text);
    assert_non_null(strstr(err.text, said));
}

static void assert_cell(const struct comparison_grid *grid, size_t cell, const char *name,
                        const char *has, const char *lacks)
{
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF called = {0};
    orchestrator_grid_cell_name(grid, cell, &called);
    orchestrator_grid_cell_text(grid, cell, &text);
    assert_string_equal(weir_buf_text(&called), name);
    assert_non_null(strstr(weir_buf_text(&text), has));
    assert_null(strstr(weir_buf_text(&text), lacks));
}

static void a_grid_has_a_cell_for_each_entry_of_each_axis_and_each_seed(void **unused)
{
    (void)unused;
    WEIR_AUTO(comparison_grid) grid = parsed(HEAD AXES JUDGE "seeds: [3, 4]\n");
    assert_int_equal(orchestrator_grid_cell_count(grid), 8);
    assert_cell(grid, 0, "daily-more-s3", "name: g-daily-more-s3", "name: base");
    assert_cell(grid, 1, "daily-more-s4", "seed: 4", "seed: 9");
    assert_cell(grid, 2, "daily-net-s3", "options: {width: 5, name: \"5\"}, seed: 3}", "logistic");
    assert_cell(grid, 0, "daily-more-s3", "trigger: {policy: time, every: 1d}", "amount");
    assert_cell(grid, 4, "ten-more-s3", "trigger: {policy: amount, samples: 20}", "samples: 10");
    assert_cell(grid, 4, "ten-more-s3", "epochs: 5", "logistic");
}

static void without_seeds_those_of_the_pipeline_hold(void **unused)
{
    (void)unused;
    WEIR_AUTO(comparison_grid) grid = parsed(HEAD AXES JUDGE);
    assert_int_equal(orchestrator_grid_cell_count(grid), 4);
    assert_cell(grid, 3, "ten-net", "selection: {policy: new_data, seed: 9}", "-s");
    assert_int_equal(orchestrator_grid_batch_of(grid, 0), 16);
}

static void cells_are_those_that_a_list_names(void **unused)
{
    (void)unused;
    WEIR_AUTO(comparison_grid)
    grid = parsed(HEAD AXES JUDGE "cells: [{trigger: ten}, {trigger: daily, training: more}]\n"
                                  "baseline: {trigger: ten, training: net}\n");
    assert_int_equal(grid->policy_count, 3);
    assert_string_equal(grid->policies[0].name, "daily-more");
    assert_string_equal(grid->baseline->name, "ten-net");
    assert_true(grid->judge.higher_is_better);
}

static void mistakes_have_a_place_in_the_grid_or_its_base(void **unused)
{
    (void)unused;
    assert_refused(HEAD AXES "judge: {evaluation: next, metric: acuracy}\n", "g.yaml:10:");
    assert_refused(HEAD AXES "judge: {evaluation: last, metric: accuracy}\n", "'last'");
    assert_refused(HEAD AXES JUDGE "cells: [{trigger: never}]\n", "g.yaml:11:19");
    assert_refused(HEAD AXES JUDGE "cells: [{triger: ten}]\n", "no axis 'triger'");
    assert_refused(HEAD AXES JUDGE "baseline: {trigger: ten}\n", "an entry of each axis");
    assert_refused(HEAD AXES JUDGE "seeds: [1, 1]\n", "twice");
    assert_refused(HEAD AXES JUDGE "seeds: [0]\n", "g.yaml:11:9");
    assert_refused(HEAD "axes: {trigger: {a: {policy: tim}}}\n" JUDGE,
                   "g.yaml:3:21: axes.trigger.a");
    assert_refused(HEAD "axes: {triger: {a: {policy: time}}}\n" JUDGE, "did you mean trigger");
    assert_refused(HEAD "axes: {trigger: {'a b': {policy: time}}}\n" JUDGE, "letters, digits");
    assert_refused(HEAD "axes: {trigger: {a: {samples: 1}, a-b: {samples: 2}}, "
                        "training: {b-c: {epochs: 1}, c: {epochs: 2}}}\n" JUDGE,
                   "two policies");
    assert_refused("comparison: g\nbase: [1]\n" AXES JUDGE, "base: expected a pipeline file");
    assert_refused(HEAD AXES "judge: {evaluation: next, metric: accuracy, from: 2020-01-01, "
                             "choose_until: 2021-01-01}\n",
                   "earlier intervals");
}

static void a_cell_whose_name_is_too_long_is_said_to_be(void **unused)
{
    (void)unused;
    assert_refused("comparison: a123456789b123456789c123456789d123456789e123456789f123456789\n"
                   "base: base.yaml\n" AXES JUDGE,
                   "64 letters");
}

static void axes_of_more_combinations_than_can_be_looked_at_are_refused(void **unused)
{
    enum { ENTRIES = 1000 };
    WEIR_AUTO_BUF text = {0};
    (void)unused;
    weir_buf_append_text(&text, HEAD "axes:\n");
    for (size_t axis = 0; axis < GRID_AXES; axis++) {
        weir_buf_printf(&text, "  %s:\n", ORCHESTRATOR_GRID_AXES[axis]);
        for (int i = 0; i < ENTRIES; i++)
            weir_buf_printf(&text, "    e%d: {}\n", i);
    }
    weir_buf_append_text(&text, "cells: [{trigger: e0, selection: e0, preprocess: e0, training: "
                                "e0}]\n" JUDGE);
    assert_refused(weir_buf_text(&text), "axes: expected at most 10000 combinations");
}

/* ---- starts ---- */

static void as_many_cells_begin_as_may_run_at_once(void **unused)
{
    (void)unused;
    const enum cell_state states[] = {CELL_DONE,    CELL_RUNNING, CELL_WAITING, CELL_FAILED,
                                      CELL_RESTING, CELL_WAITING, CELL_WAITING};
    size_t starts[3];
    assert_int_equal(orchestrator_comparing_starts(states, 7, 1, starts), 0);
    assert_int_equal(orchestrator_comparing_starts(states, 7, 3, starts), 2);
    assert_int_equal(starts[0], 2);
    assert_int_equal(starts[1], 5);
    assert_int_equal(orchestrator_comparing_starts(states, 2, 3, starts), 0);
}

static void states_have_the_names_that_rows_have(void **unused)
{
    (void)unused;
    for (int state = 0; state < CELL_STATE_COUNT; state++)
        assert_int_equal(
            orchestrator_cell_state_of(orchestrator_cell_state_name((enum cell_state)state)),
            state);
    assert_int_equal(orchestrator_cell_state_of("gone"), CELL_STATE_COUNT);
}

/* ---- windows ---- */

#define WINDOW(from_, until_, trigger_, known_, value_)                                        \
    {                                                                                          \
        .evaluation = "e", .metric = "m", .from = from_, .until = until_, .trigger = trigger_, \
        .known_until = known_, .is_defined = true, .value = value_                             \
    }

static void a_window_counts_with_the_newest_model_that_knew_nothing_of_it(void **unused)
{
    (void)unused;
    struct measured_window windows[] = {
        WINDOW(10, 20, 1, 5, 0.1),  WINDOW(10, 20, 2, 15, 0.9), WINDOW(20, 30, 1, 5, 0.2),
        WINDOW(20, 30, 2, 15, 0.3), WINDOW(20, 30, 3, 25, 0.9), WINDOW(30, 40, 3, 30, 0.9),
    };
    assert_int_equal(orchestrator_windows_in_use(windows, 6), 2);
    assert_true(windows[0].value == 0.1 && windows[1].value == 0.3);
}

static double mean_of(const struct cell_windows *windows, const struct window_span *spans,
                      size_t count)
{
    double mean = 0;
    assert_true(orchestrator_windows_mean(windows, spans, count, &mean));
    return mean;
}

/* The second policy begins late, and would win by the windows that it lacks. */
static void policies_are_compared_on_the_windows_that_all_have(void **unused)
{
    (void)unused;
    struct measured_window early[] = {
        WINDOW(10, 20, 1, 5, 0.1),
        WINDOW(20, 30, 1, 5, 0.8),
        WINDOW(30, 40, 2, 25, 0.9),
        WINDOW(40, 50, 2, 25, 0.7),
    };
    struct measured_window late[] = {
        WINDOW(20, 30, 1, 15, 0.7),
        WINDOW(25, 35, 1, 15, 0.7),
        WINDOW(30, 40, 1, 15, 0.6),
        {.from = 40, .until = 50, .is_defined = false},
    };
    const struct cell_windows cells[] = {{early, 4}, {NULL, 0}, {late, 4}};
    const struct window_span within = {10, 50}, first = {10, 20}, nothing = {15, 25};
    struct window_span spans[4];
    size_t count = orchestrator_windows_shared(cells, 3, &within, spans);
    double mean = 0;
    assert_int_equal(count, 2);
    assert_true(spans[0].from == 20 && spans[0].until == 30 && spans[1].from == 30);
    assert_true(fabs(mean_of(&cells[0], spans, count) - 0.85) < 1e-15);
    assert_true(fabs(mean_of(&cells[2], spans, count) - 0.65) < 1e-15);
    assert_false(orchestrator_windows_mean(&cells[1], spans, count, &mean));
    assert_int_equal(orchestrator_windows_within(&cells[0], &within), 4);
    assert_int_equal(orchestrator_windows_within(&cells[2], &within), 3);
    assert_int_equal(orchestrator_windows_shared(cells, 3, &first, spans),
                     1); /* only one has any */
    assert_int_equal(orchestrator_windows_shared(cells, 3, &nothing, spans), 0);
}

/* ---- verdicts ---- */

static void policies_are_compared_seed_by_seed(void **unused)
{
    (void)unused;
    const struct verdict_cell cells[] = {
        {0, 1, true, true, 0.5, 0.9, 1},   {0, 2, true, true, 0.7, 0.9, 1},
        {1, 1, true, true, 0.6, 0.8, 3},   {1, 2, true, true, 0.8, 0.8, 3},
        {2, 1, true, true, 0.55, 0.95, 4}, {1, 3, true, false, 0.9, 0, 3},
    };
    const struct verdict_rules rules = {3, 0, true};
    struct verdict_policy policies[3];
    assert_int_equal(orchestrator_verdict(cells, 6, &rules, policies), 2);
    assert_int_equal(policies[1].difference.count, 2); /* the third seed has nothing to go with */
    assert_true(fabs(policies[1].difference.mean - 0.1) < 1e-15);
    assert_true(policies[1].difference.high - policies[1].difference.low < 1e-12);
    assert_true(policies[0].is_optimal && policies[1].is_optimal && !policies[2].is_optimal);
    assert_true(policies[2].judged.count == 1 && !policies[2].judged.has_interval);
}

static void where_less_is_better_the_least_is_chosen_and_the_cheaper_of_equals(void **unused)
{
    (void)unused;
    const struct verdict_cell cells[] = {
        {0, 1, true, true, 0.5, 0.3, 2},
        {1, 1, true, true, 0.5, 0.3, 1},
        {2, 1, true, true, 0.6, 0.4, 9},
    };
    const struct verdict_rules rules = {3, 0, false};
    struct verdict_policy policies[3];
    assert_int_equal(orchestrator_verdict(cells, 3, &rules, policies), 1);
    assert_true(!policies[0].is_optimal && policies[1].is_optimal && !policies[2].is_optimal);
    assert_int_equal(orchestrator_verdict(cells, 0, &rules, policies), 3);
    assert_false(policies[0].is_optimal);
}

/* ---- intervals ---- */

/* Abramowitz and Stegun, Handbook of Mathematical Functions (1964), table 26.10. */
static void the_quantiles_of_student_are_those_of_the_table(void **unused)
{
    (void)unused;
    static const struct {
        size_t degrees;
        double quantile;
    } TABLE[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},
                 {9, 2.262},  {30, 2.042}, {120, 1.980}};
    for (size_t i = 0; i < WEIR_COUNT(TABLE); i++)
        assert_true(fabs(orchestrator_student_quantile(0.05, TABLE[i].degrees) -
                         TABLE[i].quantile) < 0.0006);
}

static void one_value_has_a_mean_and_no_interval(void **unused)
{
    (void)unused;
    struct mean_interval one = orchestrator_interval_of((const double[]){0.5}, 1);
    assert_true(one.mean == 0.5 && !one.has_interval);
    assert_int_equal(orchestrator_interval_of(NULL, 0).count, 0);
}

/* A line of values in, mean, low and high out: for a comparison with another program. */
static int print_intervals(const char *path)
{
    enum { MOST = 64 };
    FILE *file = fopen(path, "r");
    double values[MOST];
    int count = 0;
    if (file == NULL)
        return 1;
    while (fscanf(file, "%d", &count) == 1 && count >= 0 && count <= MOST) {
        for (int i = 0; i < count; i++)
            if (fscanf(file, "%lf", &values[i]) != 1)
                return 1;
        struct mean_interval found = orchestrator_interval_of(values, (size_t)count);
        printf("%.17g %.17g %.17g\n", found.mean, found.low, found.high);
    }
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_has_a_cell_for_each_entry_of_each_axis_and_each_seed),
        cmocka_unit_test(without_seeds_those_of_the_pipeline_hold),
        cmocka_unit_test(cells_are_those_that_a_list_names),
        cmocka_unit_test(mistakes_have_a_place_in_the_grid_or_its_base),
        cmocka_unit_test(a_cell_whose_name_is_too_long_is_said_to_be),
        cmocka_unit_test(axes_of_more_combinations_than_can_be_looked_at_are_refused),
        cmocka_unit_test(as_many_cells_begin_as_may_run_at_once),
        cmocka_unit_test(states_have_the_names_that_rows_have),
        cmocka_unit_test(a_window_counts_with_the_newest_model_that_knew_nothing_of_it),
        cmocka_unit_test(policies_are_compared_on_the_windows_that_all_have),
        cmocka_unit_test(policies_are_compared_seed_by_seed),
        cmocka_unit_test(where_less_is_better_the_least_is_chosen_and_the_cheaper_of_equals),
        cmocka_unit_test(the_quantiles_of_student_are_those_of_the_table),
        cmocka_unit_test(one_value_has_a_mean_and_no_interval),
    };
    if (argc > 1)
        return print_intervals(argv[1]);
    return cmocka_run_group_tests_name("comparing", tests, NULL, NULL);
}
