/* CRC-32C against the vectors of RFC 3720, appendix B.4, and one way of computing it against the other. */
#include "core/base/crc32c.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void published_vectors_come_out(void **state)
{
    uint8_t bytes[32];

    (void)state;
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(weir_crc32c(weir_bytes(bytes, 32)), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(weir_crc32c(weir_bytes(bytes, 32)), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(weir_crc32c(weir_bytes(bytes, 32)), 0x46dd794e);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(weir_crc32c(weir_bytes(bytes, 32)), 0x113fdb5c);
    assert_int_equal(weir_crc32c(weir_bytes_of("123456789")), 0xe3069283);
}

static void the_instruction_and_the_table_agree(void **state)
{
    uint8_t bytes[300];
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 7);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)weir_rng_next(&rng);
    for (size_t size = 0; size <= sizeof(bytes); size++)
        assert_int_equal(weir_crc32c(weir_bytes(bytes, size)),
                         weir_crc32c_portable(weir_bytes(bytes, size)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_come_out),
        cmocka_unit_test(the_instruction_and_the_table_agree),
    };
    return cmocka_run_group_tests_name("base: CRC-32C", tests, NULL, NULL);
}
