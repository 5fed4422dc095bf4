/* The order of samples: a bijection per epoch, the same on any machine, and well mixed. */
#include "core/base/memory.h"
#include "preprocess/order/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct weir_digest DIGEST = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

static struct preprocess_order order_of(enum preprocess_shuffle shuffle, uint64_t window,
                                        uint64_t samples, uint64_t seed)
{
    return preprocess_order_plan(shuffle, window, samples, &DIGEST, seed);
}

/* From `first` on, where a run may end and begin anywhere. */
static void expect_run(const struct preprocess_order *order, uint32_t epoch, uint64_t first)
{
    uint64_t count = order->samples - first;
    uint64_t *indices = weir_calloc(count + 1, sizeof(*indices));
    preprocess_order_run(
        order, epoch, (struct preprocess_range){.first = first, .count = (uint32_t)count}, indices);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(indices[i], preprocess_order_at(order, epoch, first + i));
    free(indices);
}

static void expect_bijection(const struct preprocess_order *order, uint32_t epoch)
{
    uint8_t *seen = weir_calloc(order->samples, 1);
    expect_run(order, epoch, 0);
    expect_run(order, epoch, order->samples / 3);
    for (uint64_t p = 0; p < order->samples; p++) {
        uint64_t index = preprocess_order_at(order, epoch, p);
        assert_true(index < order->samples);
        assert_int_equal(seen[index], 0);
        seen[index] = 1;
    }
    free(seen);
}

static void every_order_is_a_bijection_and_runs_of_it_are_the_same(void **state)
{
    (void)state;
    static const uint64_t SIZES[] = {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 1000, 4096, 10007};
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            struct preprocess_order full = order_of(PREPROCESS_SHUFFLE_FULL, 0, SIZES[i], epoch);
            struct preprocess_order runs = order_of(PREPROCESS_SHUFFLE_WINDOWED, 10, SIZES[i], 1);
            struct preprocess_order none = order_of(PREPROCESS_SHUFFLE_NONE, 0, SIZES[i], 1);
            expect_bijection(&full, epoch);
            expect_bijection(&runs, epoch);
            expect_bijection(&none, epoch);
        }
    }
}

/* Never changes: resumed runs, and models of earlier versions, rely on it. */
static void golden_positions_stay(void **state)
{
    (void)state;
    static const uint64_t FULL[] = {995, 542, 572, 257, 534, 115, 189, 91};
    static const uint64_t WINDOWED[] = {42, 169, 296, 331, 444, 548, 600, 724};
    struct preprocess_order full = order_of(PREPROCESS_SHUFFLE_FULL, 0, 1000, 7);
    struct preprocess_order runs = order_of(PREPROCESS_SHUFFLE_WINDOWED, 100, 1000, 7);
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(preprocess_order_at(&full, 1, i), FULL[i]);
        assert_int_equal(preprocess_order_at(&runs, 1, 100 * i + i), WINDOWED[i]);
    }
}

static uint64_t same_places(const struct preprocess_order *a, uint32_t a_epoch,
                            const struct preprocess_order *b, uint32_t b_epoch)
{
    uint64_t same = 0;
    for (uint64_t p = 0; p < a->samples; p++)
        same += preprocess_order_at(a, a_epoch, p) == preprocess_order_at(b, b_epoch, p);
    return same;
}

static void seed_epoch_and_set_change_the_order(void **state)
{
    (void)state;
    struct weir_digest other_digest = DIGEST;
    other_digest.bytes[15] ^= 1;
    struct preprocess_order base = order_of(PREPROCESS_SHUFFLE_FULL, 0, 1000, 7);
    struct preprocess_order seed = order_of(PREPROCESS_SHUFFLE_FULL, 0, 1000, 8);
    struct preprocess_order set =
        preprocess_order_plan(PREPROCESS_SHUFFLE_FULL, 0, 1000, &other_digest, 7);
    assert_true(same_places(&base, 0, &seed, 0) < 10);
    assert_true(same_places(&base, 0, &set, 0) < 10);
    assert_true(same_places(&base, 0, &base, 1) < 10);
}

static void windows_keep_their_samples(void **state)
{
    (void)state;
    struct preprocess_order order = order_of(PREPROCESS_SHUFFLE_WINDOWED, 64, 1000, 3);
    for (uint64_t p = 0; p < 1000; p++)
        assert_int_equal(preprocess_order_at(&order, 0, p) / 64, p / 64);
}

/* Each sample is about equally often at each place: chi-squared over 16 x 16 tenths of a percent. */
static void a_full_shuffle_is_uniform(void **state)
{
    (void)state;
    enum { N = 16, DRAWS = 16000 };
    unsigned counts[N][N] = {{0}};
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        struct preprocess_order order = order_of(PREPROCESS_SHUFFLE_FULL, 0, N, seed);
        for (uint64_t p = 0; p < N; p++)
            counts[p][preprocess_order_at(&order, 0, p)]++;
    }
    double expected = (double)DRAWS / N, chi = 0;
    for (size_t p = 0; p < N; p++)
        for (size_t i = 0; i < N; i++)
            chi += (counts[p][i] - expected) * (counts[p][i] - expected) / expected;
    /* 225 degrees of freedom: mean 225, deviation 21. */
    assert_true(chi < 225 + 6 * 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_is_a_bijection_and_runs_of_it_are_the_same),
        cmocka_unit_test(golden_positions_stay),
        cmocka_unit_test(seed_epoch_and_set_change_the_order),
        cmocka_unit_test(windows_keep_their_samples),
        cmocka_unit_test(a_full_shuffle_is_uniform),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
