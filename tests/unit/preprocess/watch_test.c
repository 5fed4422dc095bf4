/* A watch over a noisy level. */
#include "preprocess/scale/watch.h"

#include "core/base/elementary.h"
#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double gauss(struct weir_rng *rng)
{
    double radius = sqrt(-2 * weir_ln(1 - weir_rng_unit(rng)));
    return radius * weir_cospi(2 * weir_rng_unit(rng));
}

/* A value that lies so far off its level, as a ratio; the level is one batch a second. */
static enum scale_verdict see(struct scale_watch *watch, double by, struct scale_tally *ret_level)
{
    struct scale_residual residual = {.by = by};
    struct scale_tally tally = {weir_exp(by), 1, 1};
    return preprocess_watch_add(watch, &residual, &tally, ret_level);
}

static void the_spread_is_that_of_the_values(void **state)
{
    (void)state;
    for (double spread = 0.01; spread < 0.5; spread *= 3) {
        struct scale_watch watch = {0};
        struct scale_tally level;
        struct weir_rng rng;
        weir_rng_init(&rng, 1);
        for (size_t i = 0; i < 2000; i++)
            see(&watch, spread * gauss(&rng), &level);
        assert_true(fabs(preprocess_watch_spread(&watch) / spread - 1) < 0.4);
    }
}

static void steady_noise_is_no_change(void **state)
{
    (void)state;
    struct scale_watch watch = {0};
    struct scale_tally level;
    struct weir_rng rng;
    size_t alarms = 0;
    weir_rng_init(&rng, 2);
    for (size_t i = 0; i < 20000; i++)
        alarms += see(&watch, 0.05 * gauss(&rng), &level) == SCALE_OTHER;
    assert_true(alarms <= 2);
}

static void one_wild_value_is_none_either_and_two_are_the_new_level(void **state)
{
    (void)state;
    struct scale_watch watch = {0};
    struct scale_tally level;
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    for (size_t i = 0; i < 100; i++)
        see(&watch, 0.05 * gauss(&rng), &level);
    assert_int_equal(see(&watch, 0.7, &level), SCALE_WILD);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(see(&watch, 0.02 * gauss(&rng), &level), SCALE_SAME);
    assert_int_equal(see(&watch, weir_ln(2), &level), SCALE_WILD);
    assert_int_equal(see(&watch, weir_ln(2), &level), SCALE_OTHER);
    assert_true(fabs(level.batches / level.seconds - 2) < 1e-9);
    assert_true(fabs(level.reports - 2) < 1e-9);
}

static void a_small_change_is_found_in_time(void **state)
{
    (void)state;
    struct scale_watch watch = {0};
    struct scale_tally level;
    struct weir_rng rng;
    size_t values = 0;
    weir_rng_init(&rng, 4);
    for (size_t i = 0; i < 100; i++)
        see(&watch, 0.05 * gauss(&rng), &level);
    while (values < 100 && see(&watch, 0.1 + 0.05 * gauss(&rng), &level) != SCALE_OTHER)
        values++;
    assert_true(values < 20);
    assert_true(fabs(weir_ln(level.batches / level.seconds) - 0.1) < 0.06);
}

static void batches_that_are_half_done_are_no_spread(void **state)
{
    (void)state;
    struct scale_watch watch = {0};
    struct scale_tally level;
    for (size_t i = 0; i < 1000; i++) { /* 4 or 5 batches, in turn */
        struct scale_residual residual = {.by = i % 2 == 0 ? 0.1 : -0.1, .counting = 0.02};
        preprocess_watch_add(&watch, &residual, &(struct scale_tally){4.5, 1, 1}, &level);
    }
    assert_true(preprocess_watch_spread(&watch) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spread_is_that_of_the_values),
        cmocka_unit_test(steady_noise_is_no_change),
        cmocka_unit_test(one_wild_value_is_none_either_and_two_are_the_new_level),
        cmocka_unit_test(a_small_change_is_found_in_time),
        cmocka_unit_test(batches_that_are_half_done_are_no_spread),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
