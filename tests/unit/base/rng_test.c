/* Randomness that is the same everywhere. The expected numbers come from an independent computation
 * of the published algorithms, not from this code. */
#include "core/base/attributes.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    uint64_t seed;
    uint64_t first[4];
} CASES[] = {
    {0x0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
    {0x1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
    {0x2a, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}},
    {0xffffffffffffffff,
     {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
};

static const struct {
    uint64_t value;
    uint64_t mixed;
} MIXED[] = {
    {0x0, 0x0},
    {0x1, 0x5692161d100b05e5},
    {0x9e3779b97f4a7c15, 0xe220a8397b1dcdaf},
    {0xffffffffffffffff, 0xb4d055fcf2cbbd7b},
};

static void the_numbers_are_those_of_the_published_algorithm(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_rng rng;
        weir_rng_init(&rng, CASES[i].seed);
        for (size_t k = 0; k < WEIR_COUNT(CASES[i].first); k++)
            assert_true(weir_rng_next(&rng) == CASES[i].first[k]);
    }
}

static void mixing_follows_the_published_finaliser(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(MIXED); i++)
        assert_true(weir_mix64(MIXED[i].value) == MIXED[i].mixed);
}

static void bounded_numbers_reach_every_value_about_equally(void **state)
{
    (void)state;
    enum { BOUND = 7, DRAWS = 70000 };
    int seen[BOUND] = {0};
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    for (int i = 0; i < DRAWS; i++)
        seen[weir_rng_below(&rng, BOUND)]++;
    for (int i = 0; i < BOUND; i++)
        assert_in_range(seen[i], DRAWS / BOUND - 500, DRAWS / BOUND + 500); /* over five sigma */
}

static void bounds_hold_at_the_extremes(void **state)
{
    (void)state;
    static const uint64_t BOUNDS[] = {1,         2, 3, (uint64_t)1 << 63, ((uint64_t)1 << 63) + 1,
                                      UINT64_MAX};
    struct weir_rng rng;
    weir_rng_init(&rng, 4);
    for (size_t i = 0; i < WEIR_COUNT(BOUNDS); i++) {
        for (int k = 0; k < 1000; k++)
            assert_true(weir_rng_below(&rng, BOUNDS[i]) < BOUNDS[i]);
    }
}

static void unit_numbers_lie_in_the_half_open_interval(void **state)
{
    (void)state;
    struct weir_rng rng;
    double sum = 0;
    weir_rng_init(&rng, 5);
    for (int i = 0; i < 100000; i++) {
        double unit = weir_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    assert_true(sum > 49000 && sum < 51000);
}

static void the_kernel_fills_every_byte(void **state)
{
    (void)state;
    uint8_t ored[64] = {0};
    for (int i = 0; i < 64; i++) {
        uint8_t bytes[sizeof(ored)];
        weir_random_bytes(bytes, sizeof(bytes));
        for (size_t k = 0; k < sizeof(bytes); k++)
            ored[k] |= bytes[k];
    }
    for (size_t k = 0; k < sizeof(ored); k++)
        assert_int_not_equal(ored[k], 0); /* stays 0 once in 256^64 */
    weir_random_bytes(NULL, 0);
    assert_true(weir_random_u64() != weir_random_u64());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_are_those_of_the_published_algorithm),
        cmocka_unit_test(mixing_follows_the_published_finaliser),
        cmocka_unit_test(bounded_numbers_reach_every_value_about_equally),
        cmocka_unit_test(bounds_hold_at_the_extremes),
        cmocka_unit_test(unit_numbers_lie_in_the_half_open_interval),
        cmocka_unit_test(the_kernel_fills_every_byte),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
