/* The guarantees of the scoring methods, each against a plain computation or what its paper proves. */
#include "core/base/memory.h"
#include "selector/scoring/cover.h"
#include "selector/scoring/proportional.h"
#include "tests/unit/selector/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SMALL = 14 };

static double covered(const float *values, size_t count, const size_t *chosen, size_t target)
{
    double value = 0;
    for (size_t i = 0; i < count; i++) {
        double best = 0;
        for (size_t n = 0; n < target; n++)
            best = fmax(best, 0.5 + 0.5 * cosine(values, i, chosen[n]));
        value += best;
    }
    return value;
}

/* Chooses by `submodular` with these options. */
static void maximize(const float *values, size_t count, size_t target, const char *yaml,
                     size_t *chosen)
{
    float weights[POINTS];
    const struct scoring_method *submodular = scoring_find("submodular");
    const struct scoring_input input = {
        .count = count, .width = WIDTH, .values = values, .target = target, .seed = 5};
    struct scoring_choice choice = {chosen, weights, 0};
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE char *options = weir_calloc(1, submodular->options_size);
    assert_int_equal(weir_yaml_parse("test", weir_bytes_of(yaml), &document, &err), WEIR_OK);
    assert_int_equal(cfg_read(submodular->options, CFG_CLOSED, weir_yaml_root(document),
                              "selection", NULL, options, &err),
                     WEIR_OK);
    assert_true(selector_scoring_choose(submodular, options, &input, &choice));
    assert_int_equal(choice.count, target);
}

/* ---- greedy ---- */

static void lazy_chooses_what_naive_chooses(void **state)
{
    static const char *const FUNCTIONS[] = {"facility_location", "graph_cut", "log_determinant"};
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        float values[POINTS * WIDTH];
        size_t naive[POINTS], lazy[POINTS];
        const char *function = FUNCTIONS[seed % 3];
        WEIR_AUTO_FREE char *naively = weir_format("{function: %s, optimizer: naive}", function);
        WEIR_AUTO_FREE char *lazily = weir_format("{function: %s, optimizer: lazy}", function);
        draw_points(values, POINTS, seed);
        maximize(values, POINTS, 30, naively, naive);
        maximize(values, POINTS, 30, lazily, lazy);
        assert_memory_equal(naive, lazy, 30 * sizeof(*naive));
    }
}

/* The first choice of greedy by the plain definition, again and again. */
static void greedy_agrees_with_the_definition(void **state)
{
    float values[POINTS * WIDTH];
    size_t chosen[POINTS];
    (void)state;
    draw_points(values, 80, 3);
    maximize(values, 80, 10, "{}", chosen);
    for (size_t n = 0; n < 10; n++) {
        size_t tried[POINTS];
        double mine = covered(values, 80, chosen, n + 1);
        memcpy(tried, chosen, n * sizeof(*tried));
        for (size_t i = 0; i < 80; i++) {
            tried[n] = i;
            assert_true(covered(values, 80, tried, n + 1) <= mine * (1 + 1e-6));
        }
    }
}

static void the_fast_ways_come_near(void **state)
{
    float values[POINTS * WIDTH];
    size_t lazy[POINTS], stochastic[POINTS], approximate[POINTS];
    (void)state;
    draw_points(values, POINTS, 9);
    maximize(values, POINTS, 30, "{}", lazy);
    maximize(values, POINTS, 30, "{optimizer: stochastic, epsilon: 0.05}", stochastic);
    maximize(values, POINTS, 30, "{optimizer: approximate, epsilon: 0.05}", approximate);
    double best = covered(values, POINTS, lazy, 30);
    assert_true(covered(values, POINTS, stochastic, 30) > 0.95 * best);
    assert_true(covered(values, POINTS, approximate, 30) > 0.95 * best);
}

/* ---- craig ---- */

static void a_medoid_weighs_as_many_as_it_stands_for(void **state)
{
    float values[POINTS * WIDTH], weights[POINTS];
    size_t chosen[POINTS];
    double sum = 0;
    const struct scoring_method *craig = scoring_find("craig");
    const struct optimizer options = {.method = GREEDY_LAZY, .epsilon = 0.01};
    const struct scoring_input input = {
        .count = POINTS, .width = WIDTH, .values = values, .target = 20};
    struct scoring_choice choice = {chosen, weights, 0};
    (void)state;
    draw_points(values, POINTS, 6);
    craig->choose(&options, &input, &choice);
    for (size_t n = 0; n < 20; n++) {
        float stands_for = 0;
        for (size_t i = 0; i < POINTS; i++) {
            size_t nearest = 0;
            for (size_t m = 1; m < 20; m++)
                if (distance(values, i, chosen[m]) < distance(values, i, chosen[nearest]))
                    nearest = m;
            stands_for += nearest == n;
        }
        assert_true(fabsf(weights[n] - stands_for) <= 1); /* a float may see a near tie otherwise */
        sum += (double)weights[n];
    }
    assert_true(sum == POINTS);
}

/* ---- k_center ---- */

static double radius(const float *values, size_t count, const size_t *centers, size_t target)
{
    double far = 0;
    for (size_t i = 0; i < count; i++) {
        double near = INFINITY;
        for (size_t n = 0; n < target; n++)
            near = fmin(near, distance(values, i, centers[n]));
        far = fmax(far, near);
    }
    return far;
}

static void centers_are_at_most_twice_as_far_as_the_best(void **state)
{
    const struct scoring_method *k_center = scoring_find("k_center");
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        float values[SMALL * WIDTH], weights[SMALL];
        size_t chosen[SMALL], tried[3];
        double best = INFINITY;
        const struct scoring_input input = {
            .count = SMALL, .width = WIDTH, .values = values, .target = 3, .seed = seed};
        struct scoring_choice choice = {chosen, weights, 0};
        draw_points(values, SMALL, seed);
        k_center->choose(NULL, &input, &choice);
        for (tried[0] = 0; tried[0] < SMALL; tried[0]++)
            for (tried[1] = 0; tried[1] < tried[0]; tried[1]++)
                for (tried[2] = 0; tried[2] < tried[1]; tried[2]++)
                    best = fmin(best, radius(values, SMALL, tried, 3));
        assert_true(radius(values, SMALL, chosen, 3) <= 2 * best + 1e-6);
    }
}

/* ---- loss, grad_norm ---- */

static void high_scores_are_drawn_in_proportion(void **state)
{
    enum { DRAWS = 20000 };
    static const float SCORES[] = {1, 2, 3, 4, 0, NAN};
    double counts[WEIR_COUNT(SCORES)] = {0}, chi_square = 0;
    (void)state;
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        size_t chosen[1];
        float weights[1];
        const struct scoring_input input = {
            .count = WEIR_COUNT(SCORES), .width = 1, .values = SCORES, .target = 1, .seed = seed};
        (void)selector_scoring_draw_proportional(NULL, &input,
                                                 &(struct scoring_choice){chosen, weights, 0});
        counts[chosen[0]]++;
        assert_true(weights[0] > 0 && (double)weights[0] < sqrt(WEIR_COUNT(SCORES)) + 1e-6);
    }
    for (size_t i = 0; i < 4; i++) {
        double expected = DRAWS * (double)SCORES[i] / 10;
        chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    assert_true(counts[4] == 0 && counts[5] == 0);
    assert_true(chi_square < 16.27); /* 3 degrees of freedom, p = 0.001 */
}

/* Half of a pool whose scores lie far apart: what is seldom drawn weighs for those of its kind that are not, and not by
 * total / (n score), which is right for drawing with replacement alone. */
static void a_weighted_sum_is_that_of_all(void **state)
{
    enum { DRAWS = 4000, MANY = 400, KINDS = 4, HALF = MANY / 2 };
    static const float SCORES[KINDS] = {0.05F, 0.2F, 1, 5};
    float values[MANY], weights[HALF];
    double sums[KINDS] = {0};
    size_t chosen[HALF];
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        values[i] = SCORES[i % KINDS];
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        const struct scoring_input input = {
            .count = MANY, .width = 1, .values = values, .target = HALF, .seed = seed};
        (void)selector_scoring_draw_proportional(NULL, &input,
                                                 &(struct scoring_choice){chosen, weights, 0});
        for (size_t n = 0; n < HALF; n++)
            sums[chosen[n] % KINDS] += (double)weights[n] / DRAWS;
    }
    for (size_t kind = 0; kind < KINDS; kind++) /* each kind is a quarter of the candidates */
        if (!(fabs(sums[kind] - HALF / KINDS) < 0.02 * HALF / KINDS))
            fail_msg("scores of %g weigh %g, expected %d", (double)SCORES[kind], sums[kind],
                     HALF / KINDS);
}

static void a_candidate_that_is_hardly_ever_drawn_does_not_drown_the_others(void **state)
{
    static const float SCORES[] = {1, 1, 1, 1e-30F, 1e-30F, 1e-20F, 1, 1, 1};
    size_t chosen[7];
    float weights[7];
    const struct scoring_input input = {
        .count = WEIR_COUNT(SCORES), .width = 1, .values = SCORES, .target = 7, .seed = 1};
    (void)state;
    (void)selector_scoring_draw_proportional(NULL, &input,
                                             &(struct scoring_choice){chosen, weights, 0});
    for (size_t n = 0; n < 7; n++)
        assert_true(weights[n] > 0.7F && weights[n] <= 3); /* of 9 candidates */
}

static void scores_of_zero_come_last_and_at_random(void **state)
{
    static const float SCORES[] = {0, 0, 5, 0, NAN, -1};
    size_t first = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        size_t chosen[2];
        float weights[2];
        const struct scoring_input input = {
            .count = WEIR_COUNT(SCORES), .width = 1, .values = SCORES, .target = 2, .seed = seed};
        (void)selector_scoring_draw_proportional(NULL, &input,
                                                 &(struct scoring_choice){chosen, weights, 0});
        assert_true(chosen[0] == 2 || chosen[1] == 2);
        first += chosen[0] == 0 || chosen[1] == 0;
    }
    assert_in_range(first, 140, 260); /* a fifth */
}

/* ---- uncertainty ---- */

static void doubt_is_measured_three_ways(void **state)
{
    static const float PROBABILITIES[] = {
        0.50F, 0.49F, 0.01F, /* two ahead: the least margin */
        0.40F, 0.30F, 0.30F, /* evenly spread: the most entropy, the least confidence */
        0.90F, 0.05F, 0.05F,
    };
    static const size_t FIRST[] = {1, 1, 0};
    (void)state;
    for (int metric = 0; metric < 3; metric++) {
        size_t chosen[3];
        float weights[3];
        const struct scoring_input input = {
            .count = 3, .width = 3, .values = PROBABILITIES, .target = 3};
        scoring_find("uncertainty")
            ->choose(&metric, &input, &(struct scoring_choice){chosen, weights, 0});
        assert_int_equal(chosen[0], FIRST[metric]);
        assert_int_equal(chosen[2], 2);
    }
}

static void one_probability_is_that_of_the_second_of_two_classes(void **state)
{
    static const float PROBABILITIES[] = {0.1F, 0.52F, 0.95F, 0.45F};
    static const size_t EXPECTED[] = {1, 3, 0, 2};
    size_t chosen[4];
    float weights[4];
    int metric = 0;
    const struct scoring_input input = {
        .count = 4, .width = 1, .values = PROBABILITIES, .target = 4};
    (void)state;
    scoring_find("uncertainty")
        ->choose(&metric, &input, &(struct scoring_choice){chosen, weights, 0});
    assert_memory_equal(chosen, EXPECTED, sizeof(chosen));
}

/* ---- what is not known, and what is equal ---- */

static void choose_four(const char *method, const float *values, const float *holdout_losses,
                        size_t *chosen)
{
    float weights[4];
    int metric = 0;
    const struct scoring_input input = {
        .count = 5, .width = 1, .values = values, .holdout_losses = holdout_losses, .target = 4};
    struct scoring_choice choice = {chosen, weights, 0};
    assert_true(selector_scoring_choose(scoring_find(method), &metric, &input, &choice));
}

static void what_is_not_known_comes_last(void **state)
{
    static const float VALUES[] = {0.5F, NAN, 0.25F, 0.75F, 0.5F};
    static const float NOTHING[] = {0, 0, 0, 0, 0};
    static const char *const METHODS[] = {"loss", "grad_norm", "uncertainty", "rho_loss"};
    (void)state;
    for (size_t m = 0; m < WEIR_COUNT(METHODS); m++) {
        size_t chosen[4];
        choose_four(METHODS[m], VALUES, NOTHING, chosen);
        for (size_t n = 0; n < 4; n++)
            assert_true(chosen[n] != 1);
    }
}

static void of_equal_ones_the_first_wins(void **state)
{
    static const float EQUAL[] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
    static const size_t FIRST[] = {0, 1, 2, 3};
    size_t chosen[4];
    (void)state;
    choose_four("uncertainty", EQUAL, NULL, chosen);
    assert_memory_equal(chosen, FIRST, sizeof(chosen));
    choose_four("rho_loss", EQUAL, EQUAL, chosen);
    assert_memory_equal(chosen, FIRST, sizeof(chosen));
}

/* Noise is hard for both models, easy samples for neither. */
static void what_can_be_learnt_comes_first(void **state)
{
    static const float LOSSES[] = {9, 3, 0.1F, INFINITY, 2};
    static const float HOLDOUT[] = {8.9F, 0.5F, 0.1F, 1, 4};
    static const size_t EXPECTED[] = {3, 1, 0, 2};
    size_t chosen[4];
    (void)state;
    choose_four("rho_loss", LOSSES, HOLDOUT, chosen);
    assert_memory_equal(chosen, EXPECTED, sizeof(chosen));
}

/* ---- grad_match ---- */

/* In direction: the loss of a batch is a mean by weight, so only their ratios count. */
static void matched_gradients_point_where_all_do(void **state)
{
    float values[POINTS * WIDTH], weights[POINTS];
    size_t chosen[POINTS];
    double ridge = 1e-3, product = 0, of_all = 0, of_some = 0;
    const struct scoring_input input = {
        .count = POINTS, .width = WIDTH, .values = values, .target = 40};
    struct scoring_choice choice = {chosen, weights, 0};
    (void)state;
    draw_points(values, POINTS, 8);
    assert_true(selector_scoring_choose(scoring_find("grad_match"), &ridge, &input, &choice));
    for (size_t k = 0; k < WIDTH; k++) {
        double all = 0, some = 0;
        for (size_t i = 0; i < POINTS; i++)
            all += (double)values[i * WIDTH + k];
        for (size_t n = 0; n < choice.count; n++)
            some += (double)weights[n] * (double)values[chosen[n] * WIDTH + k];
        product += all * some;
        of_all += all * all;
        of_some += some * some;
    }
    assert_true(product > 0.999 * sqrt(of_all * of_some));
}

static void of_gradients_that_are_nothing_the_first_are_taken(void **state)
{
    static const float VALUES[10] = {0};
    static const size_t FIRST[] = {0, 1, 2};
    float weights[3];
    size_t chosen[3];
    double ridge = 1;
    const struct scoring_input input = {.count = 5, .width = 2, .values = VALUES, .target = 3};
    struct scoring_choice choice = {chosen, weights, 0};
    (void)state;
    assert_true(selector_scoring_choose(scoring_find("grad_match"), &ridge, &input, &choice));
    assert_int_equal(choice.count, 3);
    assert_memory_equal(chosen, FIRST, sizeof(chosen));
}

/* ---- rs2 ---- */

static void parts_without_replacement_do_not_meet(void **state)
{
    bool seen[100] = {false};
    bool without = false;
    size_t chosen[30], again[30];
    float weights[30];
    struct scoring_input input = {.count = 100, .target = 30, .seed = 8};
    const struct scoring_method *rs2 = scoring_find("rs2");
    (void)state;
    for (input.part = 0; input.part < 3; input.part++) {
        rs2->choose(&without, &input, &(struct scoring_choice){chosen, weights, 0});
        for (size_t n = 0; n < 30; n++) {
            assert_false(seen[chosen[n]]);
            seen[chosen[n]] = true;
        }
    }
    rs2->choose(&without, &input, &(struct scoring_choice){chosen, weights, 0});
    input.part = 0;
    rs2->choose(&without, &input, &(struct scoring_choice){again, weights, 0});
    assert_memory_not_equal(chosen, again, sizeof(chosen)); /* shuffled again */
}

/* ---- balance ---- */

static void each_label_has_its_share(void **state)
{
    enum { COUNT = 90 };
    int64_t labels[COUNT];
    size_t chosen[COUNT], shares[3] = {0};
    float weights[COUNT];
    bool without = false;
    const struct scoring_input input = {.count = COUNT, .labels = labels, .target = 10, .seed = 2};
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = i < 60 ? 7 : i < 83 ? -1 : 4; /* 60, 23, 7: 6.67, 2.56, 0.78 of 10 */
    assert_true(selector_scoring_choose(scoring_find("rs2"), &without, &input,
                                        &(struct scoring_choice){chosen, weights, 0}));
    for (size_t n = 0; n < 10; n++)
        shares[chosen[n] < 60 ? 0 : chosen[n] < 83 ? 1 : 2]++;
    assert_int_equal(shares[0], 7);
    assert_int_equal(shares[1], 2);
    assert_int_equal(shares[2], 1);
}

/* ---- schedule ---- */

static void a_stage_lasts_until_the_next_begins(void **state)
{
    static const uint64_t FROM[] = {1, 4, 5};
    static const size_t EXPECTED[] = {0, 0, 0, 0, 1, 2, 2};
    (void)state;
    for (uint64_t trigger = 0; trigger < WEIR_COUNT(EXPECTED); trigger++)
        assert_int_equal(selector_scoring_stage_at(FROM, WEIR_COUNT(FROM), trigger),
                         EXPECTED[trigger]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lazy_chooses_what_naive_chooses),
        cmocka_unit_test(greedy_agrees_with_the_definition),
        cmocka_unit_test(the_fast_ways_come_near),
        cmocka_unit_test(a_medoid_weighs_as_many_as_it_stands_for),
        cmocka_unit_test(centers_are_at_most_twice_as_far_as_the_best),
        cmocka_unit_test(high_scores_are_drawn_in_proportion),
        cmocka_unit_test(a_weighted_sum_is_that_of_all),
        cmocka_unit_test(a_candidate_that_is_hardly_ever_drawn_does_not_drown_the_others),
        cmocka_unit_test(scores_of_zero_come_last_and_at_random),
        cmocka_unit_test(doubt_is_measured_three_ways),
        cmocka_unit_test(one_probability_is_that_of_the_second_of_two_classes),
        cmocka_unit_test(what_is_not_known_comes_last),
        cmocka_unit_test(of_equal_ones_the_first_wins),
        cmocka_unit_test(what_can_be_learnt_comes_first),
        cmocka_unit_test(matched_gradients_point_where_all_do),
        cmocka_unit_test(of_gradients_that_are_nothing_the_first_are_taken),
        cmocka_unit_test(parts_without_replacement_do_not_meet),
        cmocka_unit_test(each_label_has_its_share),
        cmocka_unit_test(a_stage_lasts_until_the_next_begins),
    };
    return cmocka_run_group_tests_name("selector: scoring", tests, NULL, NULL);
}
