/* The made-up stream of clicks: what a row is does not depend on the others, and each of its changes
 * is what its formula says. */
#include "benchmarks/suite/clicks.h"

#include "core/base/elementary.h"
#include "core/base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PERIOD = 4000, DEVIATIONS = 5, WIDE = 24 /* a field of 1024 values */ };

static const struct clicks CLICKS = {.seed = 1, .period = PERIOD, .start = 1000, .every = 10};

/* Periods: at first, after a concept, a popularity, a prior. */
enum { FIRST, CONCEPT, POPULARITY, PRIOR };

static struct click row_of(int period, uint64_t i)
{
    return clicks_row(&CLICKS, (uint64_t)period * PERIOD + i);
}

/* ---- what a row is ---- */

static void stays_what_it_was(void **state)
{
    char text[WEIR_DIGEST_TEXT_MAX];
    struct weir_hasher *hasher = weir_hasher_new();
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)PERIOD * 4; i += 16) {
        struct click click = clicks_row(&CLICKS, i);
        weir_hasher_add(hasher, &click, sizeof(click));
    }
    struct weir_digest digest = weir_hasher_digest(hasher);
    weir_hasher_free(hasher);
    weir_digest_text(&digest, text);
    assert_string_equal(text, "d5ecfdab71630697b070aeefd749bfec");
}

static void another_seed_is_another_stream(void **state)
{
    struct clicks other = CLICKS;
    (void)state;
    other.seed = 2;
    struct click one = clicks_row(&CLICKS, 7), two = clicks_row(&other, 7);
    assert_int_equal(one.time, 1070);
    assert_int_equal(two.time, 1070);
    assert_memory_not_equal(one.categories, two.categories, sizeof(one.categories));
}

static void changes_come_in_turn(void **state)
{
    static const struct clicks_age AGES[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 1, 1}};
    struct clicks still = CLICKS;
    (void)state;
    for (uint64_t period = 0; period < 5; period++) {
        struct clicks_age first = clicks_age(&CLICKS, period * PERIOD);
        struct clicks_age last = clicks_age(&CLICKS, period * PERIOD + PERIOD - 1);
        assert_memory_equal(&first, &AGES[period], sizeof(first));
        assert_memory_equal(&last, &AGES[period], sizeof(last));
    }
    still.period = 0;
    struct clicks_age never = clicks_age(&still, UINT64_MAX);
    assert_memory_equal(&never, &AGES[0], sizeof(never));
}

/* ---- what the changes do ---- */

/* The share of `chance` lies within so many deviations of what was counted. */
static void expect_share(double counted, double chance)
{
    assert_true(fabs(counted - chance) < DEVIATIONS * sqrt(chance * (1 - chance) / PERIOD));
}

static double share_of(int period, int field, int32_t value)
{
    double count = 0;
    for (uint64_t i = 0; i < PERIOD; i++)
        count += row_of(period, i).categories[field] == value;
    return count / PERIOD;
}

static void frequent_values_are_others_after_a_popularity(void **state)
{
    const int values = 4 << WIDE / 3, step = 3 * values / 8 + 1;
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        double chance = weir_ln((rank + 2.0) / (rank + 1)) / weir_ln(values + 1);
        expect_share(share_of(CONCEPT, WIDE, rank), chance);
        expect_share(share_of(POPULARITY, WIDE, step + rank), chance);
    }
    assert_true(share_of(POPULARITY, WIDE, 0) < share_of(CONCEPT, WIDE, 0) / 10);
}

/* The mean of -log(chance of what happened), of what the rows were at `age`. */
static double log_loss(int period, struct clicks_age age)
{
    double sum = 0;
    for (uint64_t i = 0; i < PERIOD; i++) {
        struct click click = row_of(period, i);
        double chance = clicks_chance(&CLICKS, &click, age);
        sum -= weir_ln(click.label ? chance : 1 - chance);
    }
    return sum / PERIOD;
}

static void what_was_learnt_is_wrong_after_a_concept(void **state)
{
    struct clicks_age before = {0}, after = {.concept = 1};
    (void)state;
    assert_true(log_loss(FIRST, before) < log_loss(FIRST, after) - 0.05);
    assert_true(log_loss(CONCEPT, after) < log_loss(CONCEPT, before) - 0.05);
}

static double mean_label(int period, double *ret_mean_chance)
{
    double labels = 0, chances = 0;
    for (uint64_t i = 0; i < PERIOD; i++) {
        struct click click = row_of(period, i);
        labels += click.label;
        chances +=
            clicks_chance(&CLICKS, &click, clicks_age(&CLICKS, (uint64_t)period * PERIOD + i));
    }
    *ret_mean_chance = chances / PERIOD;
    return labels / PERIOD;
}

static void more_are_clicked_after_a_prior(void **state)
{
    double before = 0, after = 0;
    double clicked_before = mean_label(POPULARITY, &before);
    double clicked_after = mean_label(PRIOR, &after);
    (void)state;
    expect_share(clicked_before, before);
    expect_share(clicked_after, after);
    assert_true(after > before + 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_what_it_was),
        cmocka_unit_test(another_seed_is_another_stream),
        cmocka_unit_test(changes_come_in_turn),
        cmocka_unit_test(frequent_values_are_others_after_a_popularity),
        cmocka_unit_test(what_was_learnt_is_wrong_after_a_concept),
        cmocka_unit_test(more_are_clicked_after_a_prior),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
