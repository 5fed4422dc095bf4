/* Compressing frames: what comes back is what went in, what does not pay is left alone, what is
 * broken or lies about its size is refused before memory is taken. */
#include "core/wire/compression.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 100 * 1000 };

static const enum weir_compression HOW[] = {WEIR_COMPRESSION_LZ4, WEIR_COMPRESSION_ZSTD};

/* So many bits of each byte are random. */
static uint8_t *bytes_of(size_t size, unsigned bits)
{
    struct weir_rng rng;
    uint8_t *bytes = weir_calloc(size, 1);
    weir_rng_init(&rng, 3);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)weir_rng_below(&rng, UINT64_C(1) << bits);
    return bytes;
}

static void what_comes_back_is_what_went_in(void **state)
{
    static const size_t SIZES[] = {WEIR_COMPRESSED_BYTES_MIN, 32768, 32769, SIZE};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(HOW) * WEIR_COUNT(SIZES); i++) {
        enum weir_compression how = HOW[i % WEIR_COUNT(HOW)];
        size_t size = SIZES[i / WEIR_COUNT(HOW)], small = 0;
        WEIR_AUTO_FREE uint8_t *plain = bytes_of(size, 1);
        WEIR_AUTO_FREE uint8_t *back = weir_calloc(size, 1);
        WEIR_AUTO_FREE void *packed = weir_compress(how, weir_bytes(plain, size), &small);
        assert_non_null(packed);
        assert_true(small <= size - size / 8);
        assert_true(weir_expand(how, weir_bytes(packed, small), back, size));
        assert_memory_equal(back, plain, size);
    }
}

static void what_does_not_pay_is_left_alone(void **state)
{
    size_t size;
    WEIR_AUTO_FREE uint8_t *noise = bytes_of(SIZE, 8);
    WEIR_AUTO_FREE uint8_t *zeros = weir_calloc(SIZE, 1);
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(HOW); i++) {
        assert_null(weir_compress(HOW[i], weir_bytes(noise, SIZE), &size));
        assert_null(weir_compress(HOW[i], weir_bytes(zeros, WEIR_COMPRESSED_BYTES_MIN - 1), &size));
    }
    assert_null(weir_compress(WEIR_COMPRESSION_NONE, weir_bytes(zeros, SIZE), &size));
    /* A frame that begins well and goes on in noise. */
    memcpy(zeros + SIZE / 2, noise, SIZE / 2);
    for (size_t i = 0; i < WEIR_COUNT(HOW); i++) {
        WEIR_AUTO_FREE void *packed = weir_compress(HOW[i], weir_bytes(zeros, SIZE), &size);
        assert_true(packed == NULL || size <= SIZE - SIZE / 8);
    }
}

static void what_is_broken_is_refused(void **state)
{
    WEIR_AUTO_FREE uint8_t *plain = bytes_of(SIZE, 1);
    WEIR_AUTO_FREE uint8_t *back = weir_calloc(2, SIZE);
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(HOW); i++) {
        size_t size = 0;
        WEIR_AUTO_FREE void *packed = weir_compress(HOW[i], weir_bytes(plain, SIZE), &size);
        struct weir_bytes whole = weir_bytes(packed, size);
        assert_false(weir_expand(HOW[i], whole, back, SIZE - 1));
        assert_false(weir_expand(HOW[i], whole, back, SIZE + 1));
        assert_false(weir_expand(HOW[i], weir_bytes(packed, size - 1), back, SIZE));
        assert_false(weir_expand(HOW[i], weir_bytes(packed, 0), back, SIZE));
        assert_false(weir_expand(HOW[1 - i], whole, back, SIZE));
        assert_false(weir_expand(WEIR_COMPRESSION_NONE, whole, back, size));
        assert_false(weir_expand(99, whole, back, SIZE));
        assert_true(weir_may_expand(HOW[i], whole, SIZE));
        assert_false(weir_may_expand(HOW[i], whole, (size_t)1 << 40));
        assert_false(weir_may_expand(HOW[i], whole, (size_t)1 << 30));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_back_is_what_went_in),
        cmocka_unit_test(what_does_not_pay_is_left_alone),
        cmocka_unit_test(what_is_broken_is_refused),
    };
    return cmocka_run_group_tests_name("compression", tests, NULL, NULL);
}
