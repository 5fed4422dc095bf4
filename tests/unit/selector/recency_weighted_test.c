/* Frequencies of draws, by chi-square; importance weights make sums unbiased. */
#include "tests/unit/selector/choose.h"

#include <math.h>

enum { ROUNDS = 20000, SAMPLES = 200 };

/* With one draw the chance of a sample is 2^-age over the sum. */
static void the_first_draw_follows_the_half_life(void **state)
{
    (void)state;
    enum { AGES = 5 };
    static const int64_t TIMES[AGES] = {4000, 3000, 2000, 1000, 0};
    double counts[AGES] = {0}, total = 0, chi_square = 0;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        size_t chosen[AGES];
        float weights[AGES];
        const struct given input = {.times = TIMES, .count = AGES, .target = 1};
        struct picked output = {.chosen = chosen, .weights = weights};
        choose("recency_weighted", "{half_life: 1ms}", &input, seed, &output);
        assert_int_equal(output.count, 1);
        counts[chosen[0]]++;
    }
    for (int age = 0; age < AGES; age++)
        total += ldexp(1, -age);
    for (int age = 0; age < AGES; age++) {
        double expected = ROUNDS * ldexp(1, -age) / total;
        chi_square += (counts[age] - expected) * (counts[age] - expected) / expected;
    }
    assert_true(chi_square < 18.47); /* 0.999 quantile, 4 degrees of freedom */
}

/* The estimate of the number of candidates and of a sum over them, in the mean of many draws. */
static void importance_weights_estimate_sums_without_bias(void **state)
{
    (void)state;
    int64_t times[SAMPLES];
    double count = 0, sum = 0, expected = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        times[i] = (int64_t)i * 10;
        expected += (double)(i * i % 97);
    }
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        size_t chosen[SAMPLES];
        float weights[SAMPLES];
        const struct given input = {.times = times, .count = SAMPLES, .target = 50};
        struct picked output = {.chosen = chosen, .weights = weights};
        choose("recency_weighted", "{half_life: 1ms}", &input, seed, &output);
        assert_int_equal(output.count, 50);
        for (size_t k = 0; k < output.count; k++) {
            count += (double)weights[k] / ROUNDS;
            sum += (double)weights[k] * (double)(chosen[k] * chosen[k] % 97) / ROUNDS;
        }
    }
    assert_true(fabs(count - SAMPLES) < 0.01 * SAMPLES);
    assert_true(fabs(sum - expected) < 0.01 * expected);
}

static void without_weights_all_count_the_same(void **state)
{
    (void)state;
    static const int64_t TIMES[4] = {INT64_MIN, 0, 1, INT64_MAX};
    size_t chosen[4];
    float weights[4];
    const struct given input = {.times = TIMES, .count = 4, .target = 3};
    struct picked output = {.chosen = chosen, .weights = weights};
    choose("recency_weighted", "{half_life: 1us, weights: none}", &input, 1, &output);
    assert_int_equal(output.count, 3);
    for (size_t k = 0; k < 3; k++)
        assert_true(weights[k] == 1 && chosen[k] > 0);
    choose("recency_weighted", "{half_life: 1us}", &input, 1, &output);
    for (size_t k = 0; k < 3; k++)
        assert_true(isfinite(weights[k]) && weights[k] >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_draw_follows_the_half_life),
        cmocka_unit_test(importance_weights_estimate_sums_without_bias),
        cmocka_unit_test(without_weights_all_count_the_same),
    };
    return cmocka_run_group_tests_name("selector/recency_weighted", tests, NULL, NULL);
}
