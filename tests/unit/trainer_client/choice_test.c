/* The choice inside a batch: how many, which, and by which weight. */
#include "trainer_client/models/choice.h"

#include "core/base/doubt.h"
#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 6, ROUNDS = 10000 };
static const double SCORES[SAMPLES] = {1, 2, 3, 4, 0, NAN};

static void choose(int score, double ratio, uint64_t seed, float *factors)
{
    const struct cfg_batch_then_sample options = {.score = score, .ratio = ratio};
    trainer_choose(&options,
                   &(struct choice_input){.samples = SAMPLES, .seed = seed, .score = SCORES},
                   factors);
}

static size_t count(const float *factors)
{
    size_t chosen = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        chosen += factors[i] > 0.0f;
    return chosen;
}

static void a_ratio_is_exact(void **unused)
{
    (void)unused;
    static const struct {
        double ratio;
        size_t samples, chosen;
    } CASES[] = {{0.5, 6, 3},      {0.29, 100, 29}, {0.57, 100, 57}, {0.1, 4, 1},
                 {0.999, 100, 99}, {1, 7, 7},       {1e-6, 5, 1},    {0.5, 0, 0}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct cfg_batch_then_sample options = {.ratio = CASES[i].ratio};
        assert_int_equal(trainer_choice_count(&options, CASES[i].samples), CASES[i].chosen);
    }
}

/* On average a sample counts as a quarter, however likely it is to be drawn. */
static void a_draw_is_in_proportion_and_weighs_for_it(void **unused)
{
    (void)unused;
    enum { MANY = 64, KINDS = 4 };
    const struct cfg_batch_then_sample options = {.score = CFG_IN_BATCH_LOSS, .ratio = 0.25};
    double scores[MANY], mean[KINDS] = {0};
    size_t drawn[KINDS] = {0};
    for (size_t i = 0; i < MANY; i++)
        scores[i] = (double)(i % KINDS + 1);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        float factors[MANY];
        trainer_choose(
            &options,
            &(struct choice_input){.samples = MANY, .seed = weir_mix64(round), .score = scores},
            factors);
        for (size_t i = 0; i < MANY; i++) {
            mean[i % KINDS] += (double)factors[i] * KINDS / MANY / ROUNDS;
            drawn[i % KINDS] += factors[i] > 0.0f;
        }
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        assert_true(kind == 0 || drawn[kind] > drawn[kind - 1]);
        if (!(fabs(mean[kind] - options.ratio) <= 0.04 * options.ratio)) /* five deviations */
            fail_msg("score %zu counts %g on average, expected %g", kind + 1, mean[kind],
                     options.ratio);
    }
}

static void who_has_no_score_comes_last(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 100; seed++) {
        float factors[SAMPLES];
        choose(CFG_IN_BATCH_GRAD_NORM, 0.84, seed, factors);
        assert_int_equal(count(factors), 5);
        for (size_t i = 0; i < 4; i++)
            assert_true(factors[i] == 5.0f / SAMPLES); /* they are always drawn */
        assert_true((factors[4] > 0.0f) != (factors[5] > 0.0f));
    }
}

static void the_same_seed_chooses_the_same(void **unused)
{
    (void)unused;
    size_t changes = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        float first[SAMPLES], again[SAMPLES], other[SAMPLES];
        choose(CFG_IN_BATCH_LOSS, 0.5, seed, first);
        choose(CFG_IN_BATCH_LOSS, 0.5, seed, again);
        choose(CFG_IN_BATCH_LOSS, 0.5, seed + 1000, other);
        assert_memory_equal(first, again, sizeof(first));
        changes += memcmp(first, other, sizeof(first)) != 0;
    }
    assert_true(changes > 10);
}

static void the_most_doubtful_are_chosen(void **unused)
{
    (void)unused;
    static const double DOUBTS[SAMPLES] = {-0.9, -0.5, -0.7, -0.5, -0.6, -0.5};
    const struct cfg_batch_then_sample options = {.score = CFG_IN_BATCH_UNCERTAINTY, .ratio = 0.34};
    float factors[SAMPLES];
    trainer_choose(&options, &(struct choice_input){.samples = SAMPLES, .score = DOUBTS}, factors);
    static const float EXPECTED[SAMPLES] = {0, 1, 0, 1, 0, 0}; /* of equal ones the first */
    assert_memory_equal(factors, EXPECTED, sizeof(factors));
}

static void doubt_is_measured_as_it_says(void **unused)
{
    (void)unused;
    const float three[] = {0.5f, 0.25f, 0.25f}, second[] = {0.25f};
    assert_true(weir_doubt_of(three, 3, WEIR_DOUBT_LEAST_CONFIDENCE) == -0.5);
    assert_true(weir_doubt_of(three, 3, WEIR_DOUBT_MARGIN) == -0.25);
    assert_true(fabs(weir_doubt_of(three, 3, WEIR_DOUBT_ENTROPY) - 1.5 * log(2)) < 1e-12);
    assert_true(weir_doubt_of(second, 1, WEIR_DOUBT_LEAST_CONFIDENCE) == -0.75);
    assert_true(weir_doubt_of(second, 1, WEIR_DOUBT_MARGIN) == -0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ratio_is_exact),
        cmocka_unit_test(a_draw_is_in_proportion_and_weighs_for_it),
        cmocka_unit_test(who_has_no_score_comes_last),
        cmocka_unit_test(the_same_seed_chooses_the_same),
        cmocka_unit_test(the_most_doubtful_are_chosen),
        cmocka_unit_test(doubt_is_measured_as_it_says),
    };
    return cmocka_run_group_tests_name("choice inside a batch", tests, NULL, NULL);
}
