/* Metrics against values worked out by hand, and against the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "core/base/rng.h"
#include "orchestrator/metrics/metric.h"

#include <math.h>

enum { COUNT_MAX = 64 };

static void check(const char *name, const struct metric_input *input, double expected)
{
    double value = 0;
    assert_true(orchestrator_metric_find(name)->measure(input, &value));
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
    double value = 7;
    struct metric_input input = {values, ones, 2, 1};
    assert_false(orchestrator_metric_find("roc_auc")->measure(&input, &value));
    input.labels = zeros;
    assert_false(orchestrator_metric_find("roc_auc")->measure(&input, &value));
    assert_true(value == 7);
}

static void every_metric_is_undefined_without_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_metric_count(); i++) {
        struct metric_input input = {NULL, NULL, 0, 1};
        double value = 0;
        assert_false(orchestrator_metric_at(i)->measure(&input, &value));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_metrics_have_their_known_values),
        cmocka_unit_test(a_window_of_one_class_is_undefined),
        cmocka_unit_test(every_metric_is_undefined_without_samples),
        cmocka_unit_test(ties_count_half_as_the_definition_says),
        cmocka_unit_test(several_classes_take_the_most_probable),
        cmocka_unit_test(a_certain_mistake_costs_a_finite_loss),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
