/* Metrics against values worked out by hand, against the definition, and against what scikit-learn says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/loop/work.h"
#include "core/wire/sample.h"
#include "orchestrator/metrics/given.h"
#include "tests/support/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 64 };

static struct configured_metric *open_metric(const struct weir_yaml *document)
{
    struct configured_metric *asked = NULL;
    struct weir_error err;
    if (orchestrator_metric_open(weir_yaml_root(document), "metrics", &asked, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return asked;
}

static void check(const char *name, const struct metric_input *input, double expected)
{
    WEIR_AUTO(weir_yaml) document = yaml_of(name);
    WEIR_AUTO(configured_metric) asked = open_metric(document);
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
        struct metric_input input = {
            .values = CASES[i].values, .labels = CASES[i].labels, .count = 4, .width = 1};
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
        WEIR_AUTO(weir_yaml) document = yaml_of(RANKINGS[i]);
        WEIR_AUTO(configured_metric) asked = open_metric(document);
        double value = 7;
        struct metric_input input = {.values = values, .labels = ones, .count = 2, .width = 1};
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
        WEIR_AUTO(weir_yaml) document = yaml_of(orchestrator_metric_at(i)->name);
        WEIR_AUTO(configured_metric) asked = open_metric(document);
        struct metric_input input = {.values = NULL, .labels = NULL, .count = 0, .width = 1};
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
        struct metric_input input = {
            .values = values, .labels = labels, .count = count, .width = 1};
        check("roc_auc", &input, won_by_definition(values, labels, count));
    }
}

static void several_classes_take_the_most_probable(void **state)
{
    (void)state;
    const float values[] = {.7F, .2F, .1F, .1F, .8F, .1F, .3F, .3F, .4F, .6F, .3F, .1F};
    const int64_t labels[] = {0, 1, 2, 2};
    struct metric_input input = {.values = values, .labels = labels, .count = 4, .width = 3};
    check("accuracy", &input, .75);
    check("log_loss", &input,
          -(log((double).7F) + log((double).8F) + log((double).4F) + log((double).1F)) / 4);
}

static void a_certain_mistake_costs_a_finite_loss(void **state)
{
    (void)state;
    const float values[] = {0};
    const int64_t labels[] = {1};
    struct metric_input input = {.values = values, .labels = labels, .count = 1, .width = 1};
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
        WEIR_AUTO(weir_yaml) document = yaml_of(orchestrator_metric_at(i)->name);
        WEIR_AUTO(configured_metric) asked = open_metric(document);
        for (size_t width = 1; width <= 3; width++) {
            double value = 0;
            struct metric_input input = {
                .values = values, .labels = labels, .count = 6 / width, .width = width};
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
    const struct metric_input input = {.values = values, .labels = labels, .count = 3, .width = 1};
    for (size_t i = 0; i < WEIR_COUNT(METRICS); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(METRICS[i]);
        WEIR_AUTO(configured_metric) asked = open_metric(document);
        double value = 0;
        assert_false(orchestrator_metric_value(asked, &input, &value));
    }
}

static void slices_by_label_add_up_to_the_whole(void **state)
{
    (void)state;
    const float values[] = {.9F, .2F, .6F, .4F, .7F};
    const int64_t labels[] = {1, 1, 0, 0, 1};
    const struct metric_input input = {.values = values, .labels = labels, .count = 5, .width = 1};
    WEIR_AUTO(weir_yaml) document = yaml_of("{name: accuracy, by: label}");
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_string_equal(orchestrator_metric_label(asked), "accuracy(by=label)");
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 3);
    assert_true(results[0].slice_of == NULL && fabs(results[0].value - .6) < 1e-12);
    assert_true(results[1].slice_of != NULL && results[1].slice == 0 && results[1].samples == 2);
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
    const struct metric_input input = {
        .values = values, .labels = labels, .count = MANY, .width = 1};
    WEIR_AUTO(weir_yaml) document = yaml_of("{name: accuracy, bootstrap: 400, level: 0.9}");
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 1);
    double deviation = sqrt(.8 * .2 / MANY);
    assert_true(results[0].has_interval);
    assert_true(fabs(results[0].low - (.8 - 1.645 * deviation)) < deviation / 3);
    assert_true(fabs(results[0].high - (.8 + 1.645 * deviation)) < deviation / 3);
}

struct in_vain {
    struct metric_result *results;
    size_t count;
};

static void measure_in_vain(struct weir_work *work, void *owner)
{
    static const float VALUES[] = {.9F, .2F, .6F, .4F};
    static const int64_t LABELS[] = {1, 1, 0, 0};
    struct in_vain *found = owner;
    const struct metric_input input = {
        .values = VALUES, .labels = LABELS, .count = 4, .width = 1, .work = work};
    WEIR_AUTO(weir_yaml) document = yaml_of("{name: accuracy, bootstrap: 10000, by: label}");
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    weir_work_cancel(work);
    found->count = orchestrator_metric_measure(asked, &input, &found->results);
}

static void on_given_up(void *owner)
{
    (void)owner;
    fail_msg("a work that is stopped says nothing");
}

static void what_is_given_up_is_neither_drawn_nor_sliced(void **state)
{
    (void)state;
    struct weir_loop *loop = weir_loop_new();
    struct weir_work *work = NULL;
    struct weir_error err;
    struct in_vain found = {.results = NULL};
    assert_int_equal(weir_work_start(loop, measure_in_vain, on_given_up, &found, &work, &err),
                     WEIR_OK);
    weir_work_stop(work);
    weir_loop_free(loop);
    assert_int_equal(found.count, 1);
    assert_true(found.results[0].defined && !found.results[0].has_interval);
    free(found.results);
}

/* ---- what a run has said ---- */

static void labels_are_read_by_what_their_bits_are(void **state)
{
    (void)state;
    static const uint64_t IDS[] = {1, 2, 3};
    static const double LABELS[] = {1, 2.5, -3};
    static const float VALUES[] = {.9F, 2.5F, .2F};
    struct metric_given given;
    int64_t bits[3];
    memcpy(bits, LABELS, sizeof(bits));
    const struct weir_outputs outputs = {.ids = IDS,
                                         .labels = bits,
                                         .values = VALUES,
                                         .count = 3,
                                         .width = 1,
                                         .label_kind = WEIR_LABEL_FLOAT};
    orchestrator_metric_given_open(&outputs, &given);
    assert_memory_equal(given.input.numbers, LABELS, sizeof(LABELS));
    assert_true(given.input.labels[0] == 1 && given.input.labels[2] == -3);
    assert_true(given.input.labels[1] == INT64_MIN); /* no class */
    check("mse", &given.input, ((.9F - 1) * (.9F - 1) + (.2F + 3.) * (.2F + 3.)) / 3);
    check("accuracy", &given.input, 1. / 3);
    orchestrator_metric_given_close(&given);
}

/* ---- rankings within groups ---- */

static void check_groups(const char *name, const int64_t *labels, const int64_t *groups,
                         double expected)
{
    static const float VALUES[] = {.9F, .8F, .7F, .5F, .5F, .5F, .1F};
    const struct metric_input input = {
        .values = VALUES, .labels = labels, .count = 7, .width = 1, .groups = groups};
    WEIR_AUTO(weir_yaml) document = yaml_of(name);
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    double value = NAN;
    bool is_defined = orchestrator_metric_value(asked, &input, &value);
    assert_int_equal(is_defined, !isnan(expected));
    assert_true(!is_defined || fabs(value - expected) < 1e-12);
}

/* Worked out by hand: of the three that are tied at .5, two are relevant. */
static void groups_are_ranked_apart_and_averaged(void **state)
{
    (void)state;
    static const int64_t LABELS[] = {0, 1, 0, 1, 1, 0, 0};
    static const int64_t APART[] = {7, 7, 7, 5, 5, 5, 5}, ALONE[] = {1, 2, 3, 4, 5, 6, 7};
    check_groups("group_auc", LABELS, APART, (.5 + .75) / 2);
    check_groups("{name: group_auc, weigh: samples}", LABELS, APART, (.5 * 3 + .75 * 4) / 7);
    check_groups("{name: recall_at_k, k: 1}", LABELS, APART, (0 + 1. / 3) / 2);
    check_groups("{name: recall_at_k, k: 2}", LABELS, APART, (1 + 2. / 3) / 2);
    check_groups("{name: ndcg, k: 1}", LABELS, APART, (0 + 2. / 3) / 2);
    check_groups("{name: ndcg, k: 2}", LABELS, APART, (1 / log2(3) / 1 + 2. / 3) / 2);
    check_groups("group_auc", LABELS, NULL, 6. / 12); /* without groups all are one */
    check_groups("group_auc", LABELS, ALONE, NAN);
    check_groups("ndcg", LABELS, ALONE, NAN);
    check_groups("recall_at_k", LABELS, ALONE, NAN);
    static const int64_t NOTHING[7] = {0}, BELOW[] = {0, -1, 0, 1, 1, 0, 0};
    check_groups("ndcg", NOTHING, APART, NAN);
    check_groups("recall_at_k", NOTHING, APART, NAN);
    check_groups("{name: ndcg, k: 1}", BELOW, APART,
                 2. / 3); /* a group with a label below 0 is left out */
}

/* Ten users of 100 samples each: drawing samples would say that there are 1000 draws of luck, where there are ten. */
static void the_bootstrap_of_a_ranking_draws_whole_groups(void **state)
{
    (void)state;
    enum { USERS = 10, EACH = 100, ALL = USERS * EACH };
    float values[ALL];
    int64_t labels[ALL], groups[ALL];
    for (size_t i = 0; i < ALL; i++) {
        groups[i] = (int64_t)(i / EACH);
        labels[i] = (int64_t)(i % 2);
        values[i] = groups[i] < USERS / 2 ? (float)labels[i] : 1 - (float)labels[i];
    }
    const struct metric_input input = {
        .values = values, .labels = labels, .count = ALL, .width = 1, .groups = groups};
    WEIR_AUTO(weir_yaml) document = yaml_of("{name: group_auc, bootstrap: 400, by: group}");
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 1 + USERS);
    assert_true(results[0].value == .5 && results[0].low <= .2 && results[0].high >= .8);
    assert_string_equal(results[1].slice_of, "group");
    assert_true(results[1].value == 1 && results[USERS].value == 0);
    assert_int_equal(results[USERS].slice, USERS - 1);
}

static void a_field_tells_samples_apart(void **state)
{
    static const int64_t SLICES[] = {7, 1, 8, 1, 7, 2, 8, 2}; /* two columns */
    static const int64_t LABELS[] = {1, 1, 0, 0};
    static const float VALUES[] = {.9F, .2F, .1F, .8F};
    (void)state;
    WEIR_AUTO(weir_yaml) names = yaml_of("[city, day]");
    const struct cfg_texts texts = {.count = 2, .node = weir_yaml_root(names)};
    const struct metric_input input = {.values = VALUES,
                                       .labels = LABELS,
                                       .count = 4,
                                       .width = 1,
                                       .slices = SLICES,
                                       .slice_names = &texts};
    WEIR_AUTO(weir_yaml) document = yaml_of("{name: accuracy, by: day}");
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    WEIR_AUTO_FREE struct metric_result *results = NULL;
    assert_int_equal(orchestrator_metric_measure(asked, &input, &results), 3);
    assert_string_equal(results[2].slice_of, "day");
    assert_true(results[1].slice == 1 && results[1].value == .5);
    free(results);
    WEIR_AUTO(weir_yaml) other = yaml_of("{name: accuracy, by: city}");
    WEIR_AUTO(configured_metric) by_city = open_metric(other);
    assert_int_equal(orchestrator_metric_measure(by_city, &input, &results), 3);
    assert_true(results[1].slice == 7 && results[1].value == 1 && results[2].value == 0);
}

/* ---- what scikit-learn says ---- */

/* Words as one kind of number; `into` are COUNT_MAX of them. */
enum number_kind { FLOATS, DOUBLES, INTEGERS };

static size_t read_numbers(char *text, enum number_kind kind, void *into)
{
    size_t count = 0;
    for (char *word = strtok_r(text, " ", &text); word != NULL; word = strtok_r(NULL, " ", &text)) {
        assert_true(count < COUNT_MAX);
        if (kind == FLOATS)
            ((float *)into)[count] = strtof(word, NULL);
        else if (kind == DOUBLES)
            ((double *)into)[count] = strtod(word, NULL);
        else
            ((int64_t *)into)[count] = strtoll(word, NULL, 10);
        count++;
    }
    return count;
}

/* metric, width, numbers of a label (0: one that is whole), value, labels, values, groups or "-"; tabs between.
 * tests/contract/metrics_sklearn_test.py writes them. */
static void check_golden_line(char *line)
{
    enum { METRIC, WIDTH, LABEL_WIDTH, VALUE, LABELS, VALUES, GROUPS, FIELDS };
    char *fields[FIELDS];
    float values[COUNT_MAX];
    int64_t labels[COUNT_MAX] = {0}, groups[COUNT_MAX];
    double numbers[COUNT_MAX];
    for (size_t i = 0; i < WEIR_COUNT(fields); i++) {
        fields[i] = strtok_r(line, "\t", &line);
        assert_non_null(fields[i]);
    }
    WEIR_AUTO(weir_yaml) document = yaml_of(fields[METRIC]);
    WEIR_AUTO(configured_metric) asked = open_metric(document);
    struct metric_input input = {.values = values,
                                 .labels = labels,
                                 .width = strtoul(fields[WIDTH], NULL, 10),
                                 .label_width = strtoul(fields[LABEL_WIDTH], NULL, 10)};
    if (input.label_width == 0) {
        input.count = read_numbers(fields[LABELS], INTEGERS, labels);
    } else {
        input.numbers = numbers;
        input.count = read_numbers(fields[LABELS], DOUBLES, numbers) / input.label_width;
    }
    if (strcmp(fields[GROUPS], "-") != 0) {
        input.groups = groups;
        assert_int_equal(read_numbers(fields[GROUPS], INTEGERS, groups), input.count);
    }
    assert_int_equal(read_numbers(fields[VALUES], FLOATS, values), input.count * input.width);
    double expected = strtod(fields[VALUE], NULL);
    double found = NAN;
    assert_true(orchestrator_metric_value(asked, &input, &found));
    if (!(fabs(found - expected) <= 2e-7 * fmax(1, fabs(expected))))
        fail_msg("%s: expected %.12g, found %.12g", fields[METRIC], expected, found);
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

/* WIDTH LABEL_WIDTH VALUES LABELS GROUPS METRIC…: for comparison. LABEL_WIDTH above 0: labels are
 * so many doubles; GROUPS may be "-". */
static int print_values(int argc, char **argv)
{
    WEIR_AUTO_BUF values = {0}, labels = {0}, groups = {0};
    struct weir_error err;
    bool grouped = strcmp(argv[5], "-") != 0;
    if (weir_file_read(argv[3], 1 << 26, &values, &err) != WEIR_OK ||
        weir_file_read(argv[4], 1 << 26, &labels, &err) != WEIR_OK ||
        (grouped && weir_file_read(argv[5], 1 << 26, &groups, &err) != WEIR_OK))
        return 1;
    size_t width = strtoul(argv[1], NULL, 10), label_width = strtoul(argv[2], NULL, 10);
    WEIR_AUTO_FREE int64_t *none = weir_calloc(labels.size / 8 + 1, sizeof(*none));
    const struct metric_input input = {
        .values = (const float *)(const void *)values.at,
        .labels = label_width > 0 ? none : (const int64_t *)(const void *)labels.at,
        .numbers = label_width > 0 ? (const double *)(const void *)labels.at : NULL,
        .groups = grouped ? (const int64_t *)(const void *)groups.at : NULL,
        .count = labels.size / sizeof(int64_t) / (label_width > 0 ? label_width : 1),
        .width = width,
        .label_width = label_width};
    for (int i = 6; i < argc; i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(argv[i]);
        WEIR_AUTO(configured_metric) asked = open_metric(document);
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
    if (argc > 6)
        return print_values(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_metric_is_whole),
        cmocka_unit_test(metrics_are_what_scikit_learn_says),
        cmocka_unit_test(what_is_no_number_is_undefined_or_wrong_but_never_a_crash),
        cmocka_unit_test(a_regression_that_is_no_number_is_undefined),
        cmocka_unit_test(slices_by_label_add_up_to_the_whole),
        cmocka_unit_test(what_is_given_up_is_neither_drawn_nor_sliced),
        cmocka_unit_test(labels_are_read_by_what_their_bits_are),
        cmocka_unit_test(groups_are_ranked_apart_and_averaged),
        cmocka_unit_test(a_field_tells_samples_apart),
        cmocka_unit_test(the_bootstrap_of_a_ranking_draws_whole_groups),
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
