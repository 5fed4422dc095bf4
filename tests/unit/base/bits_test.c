/* The growing bit set, checked against the plainest model of one: an array of bools. */
#include "core/base/bits.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MODEL_BITS = 700 };

static void nothing_is_set_in_an_empty_set(void **state)
{
    (void)state;
    struct weir_bits bits = {0};
    WEIR_AUTO_BUF packed = {0};
    assert_false(weir_bits_get(&bits, 0));
    assert_false(weir_bits_get(&bits, SIZE_MAX));
    assert_int_equal(weir_bits_population(&bits), 0);
    weir_bits_shift_down(&bits, 9);
    weir_bits_clear(&bits);
    weir_bits_pack(&bits, &packed);
    assert_int_equal(packed.size, 0);
    weir_bits_fini(&bits);
}

static void bits_are_set_one_by_one(void **state)
{
    (void)state;
    static const size_t PLACES[] = {0, 1, 63, 64, 65, 127, 128, 4095};
    struct weir_bits bits = {0};
    for (size_t i = 0; i < WEIR_COUNT(PLACES); i++)
        weir_bits_set(&bits, PLACES[i]);
    assert_int_equal(weir_bits_population(&bits), WEIR_COUNT(PLACES));
    assert_int_equal(bits.count, 4096);
    assert_false(weir_bits_get(&bits, 2));
    for (size_t i = 0; i < WEIR_COUNT(PLACES); i++)
        assert_true(weir_bits_get(&bits, PLACES[i]));
    weir_bits_fini(&bits);
}

static void packed_bits_begin_with_bit_0_and_drop_trailing_zeros(void **state)
{
    (void)state;
    struct weir_bits bits = {0}, back = {0};
    WEIR_AUTO_BUF packed = {0};
    weir_bits_set(&bits, 0);
    weir_bits_set(&bits, 9);
    weir_bits_set(&bits, 500);
    bits.words[500 / 64] = 0; /* words are taken away from a set by whoever compares two of them */
    weir_bits_pack(&bits, &packed);
    assert_int_equal(packed.size, 2);
    assert_memory_equal(packed.at, "\x01\x02", 2);

    weir_bits_set(&back, 77); /* is forgotten */
    weir_bits_unpack(&back, weir_buf_view(&packed));
    assert_int_equal(weir_bits_population(&back), 2);
    assert_true(weir_bits_get(&back, 0));
    assert_true(weir_bits_get(&back, 9));
    assert_int_equal(back.count, 10);
    weir_bits_unpack(&back, weir_bytes("\x08\x00\x00", 3)); /* zeros may trail */
    assert_int_equal(back.count, 4);
    weir_bits_unpack(&back, weir_bytes("\x00", 1));
    assert_int_equal(back.count, 0);
    weir_bits_unpack(&back, weir_bytes(NULL, 0));
    assert_int_equal(weir_bits_population(&back), 0);
    weir_bits_fini(&back);
    weir_bits_fini(&bits);
}

static void a_copy_is_equal_and_independent(void **state)
{
    (void)state;
    struct weir_bits from = {0}, to = {0};
    weir_bits_set(&from, 3);
    weir_bits_set(&from, 130);
    weir_bits_set(&to, 300);
    weir_bits_copy(&to, &from);
    weir_bits_clear(&from);
    assert_int_equal(weir_bits_population(&to), 2);
    assert_true(weir_bits_get(&to, 3));
    assert_false(weir_bits_get(&to, 300));
    weir_bits_copy(&to, &from);
    assert_int_equal(weir_bits_population(&to), 0);
    weir_bits_fini(&from);
    weir_bits_fini(&to);
}

/* Sets a random bit of both; now and then it moves all of them down instead. */
static void step(struct weir_bits *bits, bool model[MODEL_BITS], struct weir_rng *rng)
{
    size_t at = weir_rng_below(rng, MODEL_BITS);
    if (weir_rng_below(rng, 20) > 0) {
        model[at] = true;
        weir_bits_set(bits, at);
        return;
    }
    at %= 150;
    memmove(model, model + at, (MODEL_BITS - at) * sizeof(*model));
    memset(model + MODEL_BITS - at, 0, at * sizeof(*model));
    weir_bits_shift_down(bits, at);
}

static void assert_same(const struct weir_bits *bits, const bool model[MODEL_BITS])
{
    size_t population = 0;
    for (size_t i = 0; i < MODEL_BITS; i++) {
        assert_int_equal(weir_bits_get(bits, i), model[i]);
        population += model[i];
    }
    assert_int_equal(weir_bits_population(bits), population);
}

static void bits_behave_as_an_array_of_bools_would(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct weir_rng rng;
        struct weir_bits bits = {0}, back = {0};
        bool model[MODEL_BITS] = {false};
        weir_rng_init(&rng, seed);
        for (int i = 0; i < 300; i++) {
            WEIR_AUTO_BUF packed = {0};
            step(&bits, model, &rng);
            assert_same(&bits, model);
            weir_bits_pack(&bits, &packed);
            weir_bits_unpack(&back, weir_buf_view(&packed));
            assert_same(&back, model);
        }
        weir_bits_fini(&bits);
        weir_bits_fini(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_set_in_an_empty_set),
        cmocka_unit_test(bits_are_set_one_by_one),
        cmocka_unit_test(packed_bits_begin_with_bit_0_and_drop_trailing_zeros),
        cmocka_unit_test(a_copy_is_equal_and_independent),
        cmocka_unit_test(bits_behave_as_an_array_of_bools_would),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
