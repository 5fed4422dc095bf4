/* Metrics against values worked out by hand, against the definition, and against what scikit-learn says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/metrics/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 64 };

static struct weir_yaml *parse(const char *text)
{
    struct weir_yaml *document = NULL;
    struct weir_error err;
    assert_int_equal(weir_yaml_parse("t.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    return document;
}

static struct asked_metric *open_metric(const struct weir_yaml *document)
{
    struct asked_metric *asked = NULL;
    struct weir_error err;
    if (orchestrator_metric_open(weir_yaml_root(document), "metrics", &asked, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return asked;
}

static void check(const char *name, const struct metric_input *input, double expected)
{
    WEIR_AUTO(weir_yaml) document = parse(name);
    WEIR_AUTO(asked_metric) asked = open_metric(document);
    double value = 0;
    assert_true(orchestrator_metric_value(asked, input, &value));
    assert_true(fabs(value - expected) < 1e-9);
}

static void binary_metrics_have_their_known_values(void **state)
{
    (void)state;
    static const struct {
        float values[4];
        int64_t labels[4];
        double accuracy, roc_auc;
    } CASES[] = {
        {{.1F, .4F, .35F, .8F}, {0, 0, 1, 1}, .75, .75},
        {{.1F, .2F, .8F, .9F}, {0, 0, 1, 1}, 1, 1},
        {{.9F, .8F, .2F, .1F}, {0, 0, 1, 1}, 0, 0},
        {{.5F, .5F, .5F, .5F}, {0, 0, 1, 1}, .5, .5}, /* all tied */
        {{.3F, .5F, .5F, .7F}, {0, 0, 1, 1}, .75, .875},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct metric_input input = {CASES[i].values, CASES[i].labels, 4, 1};
        check("accuracy", &input, CASES[i].accuracy);
        check("roc_auc", &input, CASES[i].roc_auc);
    }
}

static void a_window_of_one_class_is_undefined(void **state)
{
    (void)state;
    const float values[] = {.1F, .9F};
    const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
    static const char *const RANKINGS[] = {"roc_auc", "pr_auc"};
    for (size_t i = 0; i < WEIR_COUNT(RANKINGS); i++) {
        WEIR_AUTO(weir_yaml) document = parse(RANKINGS[i]);
        WEIR_AUTO(asked_metric) asked = open_metric(document);
        double value = 7;
        struct metric_input input = {values, ones, 2, 1};
        assert_false(orchestrator_metric_value(asked, &input, &value));
        input.labels = zeros;
        assert_false(orchestrator_metric_value(asked, &input, &value));
        assert_true(value == 7);
    }
}

static void every_metric_is_undefined_without_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_metric_count(); i++) {
        WEIR_AUTO(weir_yaml) document = parse(orchestrator_metric_at(i)->name);
        WEIR_AUTO(asked_metric) asked = open_metric(document);
        struct metric_input input = {NULL, NULL, 0, 1};
        double value = 0;
        assert_false(orchestrator_metric_value(asked, &input, &value));
    }
}

/* The definition: over all pairs of a positive and a negative sample. */
static double won_by_definition(const float *values, const int64_t *labels, size_t count)
{
    double wins = 0, pairs = 0;
    for (size_t pair = 0; pair < count * count; pair++) {
        size_t i = pair / count, j = pair % count;
        if (labels[i] == 1 && labels[j] == 0) {
            pairs++;
            wins += values[i] > values[j] ? 1 : values[i] == values[j] ? .5 : 0;
        }
    }
    return wins / pairs;
}

static void ties_count_half_as_the_definition_says(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 11);
    for (int round = 0; round < 200; round++) {
        float values[COUNT_MAX];
        int64_t labels[COUNT_MAX] = {0, 1};
        size_t count = 2 + weir_rng_below(&rng, COUNT_MAX - 2);
        for (size_t i = 0; i < count; i++) {
            values[i] = (float)weir_rng_below(&rng, 8) / 8;
            labels[i] = i < 2 ? (int64_t)i : (int64_t)weir_rng_below(&rng, 2);
        }
        struct metric_input input = {values, labels, count, 1};
        check("roc_auc", &input, won_by_definition(values, labels, count));
    }
}

static void several_classes_take_the_most_probable(void **state)
{
    (void)state;
    const float values[] = {.7F, .2F, .1F, .1F, .8F, .1F, .3F, .3F, .4F, .6F, .3F, .1F};
    const int64_t labels[] = {0, 1, 2, 2};
    struct metric_input input = {values, labels, 4, 3};
    check("accuracy", &input, .75);
    check("log_loss", &input,
          -(log((double).7F) + log((double).8F) + log((double).4F) + log((double).1F)) / 4);
}

static void a_certain_mistake_costs_a_finite_loss(void **state)
{
    (void)state;
    const float values[] = {0};
    const int64_t labels[] = {1};
    struct metric_input input = {values, labels, 1, 1};
    check("log_loss", &input, -log(1e-15));
}

static void every_metric_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_metric_count(); i++) {
        const struct metric *metric = orchestrator_metric_at(i);
        assert_ptr_equal(orchestrator_metric_find(metric->name), metric);
        assert_true(strlen(metric->summary) > 10);
        for (const struct cfg_key *key = metric->options; key->name != NULL; key++)
            assert_non_null(key->doc);
    }
}

static void what_is_no_number_is_undefined_or_wrong_but_never_a_crash(void **state)
{
    (void)state;
    const float values[] = {NAN, .5F, INFINITY, -INFINITY, .25F, NAN};
    const int64_t labels[] = {1, 0, INT64_MAX, INT64_MIN, 7, -1};
    for (size_t i = 0; i < orchestrator_metric_count(); i++) {
        WEIR_AUTO(weir_yaml) document = parse(orchestrator_metric_at(i)->name);
        WEIR_AUTO(asked_metric) asked = open_metric(document);
        for (size_t width = 1; width <= 3; width++) {
            double value = 0;
            struct metric_input input = {values, labels, 6 / width, width};
            if (orchestrator_metric_value(asked, &input, &value))
                assert_true(isfinite(value));
        }
    }
}

static void a_regression_that_is_no_number_is_undefined(void **state)
{
    (void)state;
    static const char *const METRICS[] = {"mse", "rmse", "mae", "mape", "r2"};
    const float values[] = {1, NAN, 3};
    const int64_t labels[] = {1, 2, 4};
    const struct metric_input input = {values, labels, 3, 1};
    for (size_t i = 0; i < WEIR_COUNT(METRICS); i++) {
        WEIR_AUTO(weir_yaml) document = parse(METRICS[i]);
        WEIR_AUTO(asked_metric) asked = open_metric(document);
        double value = 0;
        assert_false(orchestrator_metric_value(asked, &input, &value));
    }
}

static void slices_by_label_add_up_to_the_whole(void **state)
{
    (void)state;
    const float values[] = {.9F, .2F, .6F, .4F, .7F};
    const int64_t labels[] = {1, 1, 0, 0, 1};
    const struct metric_input input = {values, labels, 5, 1};
    WEIR_AUTO(weir_yaml) document = parse("{name: accuracy, by: label}");
    WEIR_AUTO(asked_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_string_equal(orchestrator_metric_label(asked), "accuracy(by=label)");
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 3);
    assert_true(!results[0].sliced && fabs(results[0].value - .6) < 1e-12);
    assert_true(results[1].sliced && results[1].slice == 0 && results[1].samples == 2);
    assert_true(results[2].slice == 1 && results[2].samples == 3);
    assert_true(fabs(results[1].value - .5) < 1e-12 && fabs(results[2].value - 2. / 3) < 1e-12);
}

/* The interval of a mean, by its normal approximation, which many samples justify. */
static void a_bootstrap_interval_lies_where_theory_says(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    float values[MANY];
    int64_t labels[MANY];
    for (size_t i = 0; i < MANY; i++) {
        values[i] = .9F;
        labels[i] = i % 5 != 0; /* four of five are right */
    }
    const struct metric_input input = {values, labels, MANY, 1};
    WEIR_AUTO(weir_yaml) document = parse("{name: accuracy, bootstrap: 400, level: 0.9}");
    WEIR_AUTO(asked_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 1);
    double deviation = sqrt(.8 * .2 / MANY);
    assert_true(results[0].has_interval);
    assert_true(fabs(results[0].low - (.8 - 1.645 * deviation)) < deviation / 3);
    assert_true(fabs(results[0].high - (.8 + 1.645 * deviation)) < deviation / 3);
}

/* ---- what scikit-learn says ---- */

static size_t read_numbers(char *text, float *ret_values, int64_t *ret_labels)
{
    size_t count = 0;
    for (char *word = strtok_r(text, " ", &text); word != NULL; word = strtok_r(NULL, " ", &text)) {
        assert_true(count < COUNT_MAX);
        if (ret_values != NULL)
            ret_values[count] = strtof(word, NULL);
        else
            ret_labels[count] = strtoll(word, NULL, 10);
        count++;
    }
    return count;
}

/* metric, width, value, labels, values; tabs between. tests/contract/metrics_sklearn_test.py writes them. */
static void check_golden_line(char *line)
{
    char *fields[5];
    float values[COUNT_MAX];
    int64_t labels[COUNT_MAX];
    for (size_t i = 0; i < WEIR_COUNT(fields); i++) {
        fields[i] = strtok_r(line, "\t", &line);
        assert_non_null(fields[i]);
    }
    WEIR_AUTO(weir_yaml) document = parse(fields[0]);
    WEIR_AUTO(asked_metric) asked = open_metric(document);
    const struct metric_input input = {.values = values,
                                       .labels = labels,
                                       .width = strtoul(fields[1], NULL, 10),
                                       .count = read_numbers(fields[3], NULL, labels)};
    assert_int_equal(read_numbers(fields[4], values, NULL), input.count * input.width);
    double expected = strtod(fields[2], NULL);
    double found = NAN;
    assert_true(orchestrator_metric_value(asked, &input, &found));
    if (!(fabs(found - expected) <= 2e-7 * fmax(1, fabs(expected))))
        fail_msg("%s: expected %.12g, found %.12g", fields[0], expected, found);
}

static void metrics_are_what_scikit_learn_says(void **state)
{
    WEIR_AUTO_BUF golden = {0};
    struct weir_error err;
    size_t lines = 0;
    (void)state;
    assert_int_equal(weir_file_read(WEIR_SOURCE_DIR "/tests/contract/golden/metrics.tsv", 1 << 20,
                                    &golden, &err),
                     WEIR_OK);
    WEIR_AUTO_FREE char *text = weir_strdup(weir_buf_text(&golden));
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        check_golden_line(line);
        lines++;
    }
    assert_true(lines > 50);
}

/* WIDTH VALUES LABELS METRIC…: for comparison. */
static int print_values(int argc, char **argv)
{
    WEIR_AUTO_BUF values = {0}, labels = {0};
    struct weir_error err;
    if (weir_file_read(argv[2], 1 << 26, &values, &err) != WEIR_OK ||
        weir_file_read(argv[3], 1 << 26, &labels, &err) != WEIR_OK)
        return 1;
    const struct metric_input input = {.values = (const float *)(const void *)values.at,
                                       .labels = (const int64_t *)(const void *)labels.at,
                                       .count = labels.size / sizeof(int64_t),
                                       .width = strtoul(argv[1], NULL, 10)};
    for (int i = 4; i < argc; i++) {
        WEIR_AUTO(weir_yaml) document = parse(argv[i]);
        WEIR_AUTO(asked_metric) asked = open_metric(document);
        double value = 0;
        if (orchestrator_metric_value(asked, &input, &value))
            printf("%.17g\n", value);
        else
            printf("undefined\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4)
        return print_values(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_metric_is_whole),
        cmocka_unit_test(metrics_are_what_scikit_learn_says),
        cmocka_unit_test(what_is_no_number_is_undefined_or_wrong_but_never_a_crash),
        cmocka_unit_test(a_regression_that_is_no_number_is_undefined),
        cmocka_unit_test(slices_by_label_add_up_to_the_whole),
        cmocka_unit_test(a_bootstrap_interval_lies_where_theory_says),
        cmocka_unit_test(binary_metrics_have_their_known_values),
        cmocka_unit_test(a_window_of_one_class_is_undefined),
        cmocka_unit_test(every_metric_is_undefined_without_samples),
        cmocka_unit_test(ties_count_half_as_the_definition_says),
        cmocka_unit_test(several_classes_take_the_most_probable),
        cmocka_unit_test(a_certain_mistake_costs_a_finite_loss),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
