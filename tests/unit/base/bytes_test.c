/* Byte views, growing buffers, little-endian access. */
#include "core/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void views_are_equal_when_their_bytes_are(void **state)
{
    (void)state;
    assert_true(weir_bytes_equal(weir_bytes_of("weir"), weir_bytes("weir!", 4)));
    assert_false(weir_bytes_equal(weir_bytes_of("weir"), weir_bytes_of("weis")));
    assert_false(weir_bytes_equal(weir_bytes_of("weir"), weir_bytes_of("wei")));
    assert_true(weir_bytes_equal(weir_bytes(NULL, 0), weir_bytes_of("")));
}

static void no_text_equals_only_no_text(void **state)
{
    (void)state;
    assert_true(weir_str_equal(NULL, NULL));
    assert_false(weir_str_equal(NULL, ""));
    assert_false(weir_str_equal("", NULL));
    assert_true(weir_str_equal("a", "a"));
    assert_false(weir_str_equal("a", "b"));
}

static void a_buffer_grows_and_keeps_its_bytes(void **state)
{
    (void)state;
    WEIR_AUTO_BUF buf = {0};
    for (int i = 0; i < 10000; i++) {
        uint8_t byte = (uint8_t)i;
        weir_buf_append(&buf, &byte, 1);
    }
    assert_int_equal(buf.size, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf.at[i], (uint8_t)i);
}

static void an_empty_buffer_is_valid_everywhere(void **state)
{
    (void)state;
    WEIR_AUTO_BUF buf = {0};
    weir_buf_append(&buf, NULL, 0);
    weir_buf_reserve(&buf, 0);
    weir_buf_clear(&buf);
    assert_int_equal(weir_buf_view(&buf).size, 0);
    assert_string_equal(weir_buf_text(&buf), "");
}

static void text_is_appended_printed_and_terminated_on_demand(void **state)
{
    (void)state;
    WEIR_AUTO_BUF buf = {0};
    weir_buf_append_text(&buf, "samples=");
    weir_buf_printf(&buf, "%d%s", 12, "");
    assert_string_equal(weir_buf_text(&buf), "samples=12");
    assert_int_equal(buf.size, 10);
    weir_buf_printf(&buf, " %0500d", 7);
    assert_int_equal(buf.size, 511);
    assert_int_equal(strlen(weir_buf_text(&buf)), 511);
}

static void a_cleared_buffer_keeps_its_memory_and_a_finished_one_does_not(void **state)
{
    (void)state;
    struct weir_buf buf = {0};
    weir_buf_append_text(&buf, "x");
    const uint8_t *before = buf.at;
    weir_buf_clear(&buf);
    weir_buf_append_text(&buf, "y");
    assert_ptr_equal(buf.at, before);
    weir_buf_fini(&buf);
    assert_null(buf.at);
    assert_int_equal(buf.capacity, 0);
    weir_buf_fini(&buf);
}

static void a_buffer_that_outgrows_lent_memory_moves_to_its_own(void **state)
{
    (void)state;
    uint8_t lent[4] = {0};
    struct weir_buf buf = {0};
    weir_buf_append_text(&buf, "before");
    weir_buf_lend(&buf, lent, sizeof lent);
    assert_int_equal(buf.size, 0);
    weir_buf_append_text(&buf, "1234");
    assert_ptr_equal(buf.at, lent);
    weir_buf_append_text(&buf, "56");
    assert_memory_equal(lent, "1234", sizeof lent);
    assert_string_equal(weir_buf_text(&buf), "123456");
    weir_buf_fini(&buf);
    weir_buf_lend(&buf, lent, sizeof lent);
    weir_buf_fini(&buf);
    assert_null(buf.at);
}

static void numbers_lie_little_end_first_at_any_address(void **state)
{
    (void)state;
    uint8_t bytes[16] = {0};
    weir_put_u16(bytes + 1, 0x0102);
    weir_put_u32(bytes + 3, 0x03040506);
    weir_put_u64(bytes + 7, 0x0708090a0b0c0d0e);
    static const uint8_t EXPECTED[] = {0,    0x02, 0x01, 0x06, 0x05, 0x04, 0x03, 0x0e,
                                       0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 0x07, 0};
    assert_memory_equal(bytes, EXPECTED, sizeof bytes);
    assert_int_equal(weir_get_u16(bytes + 1), 0x0102);
    assert_int_equal(weir_get_u32(bytes + 3), 0x03040506);
    assert_true(weir_get_u64(bytes + 7) == 0x0708090a0b0c0d0e);
}

static void hexadecimal_is_lower_case(void **state)
{
    (void)state;
    char text[9];
    weir_hex("\x00\xa1\x5f\xff", 4, text);
    assert_string_equal(text, "00a15fff");
    weir_hex(NULL, 0, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_equal_when_their_bytes_are),
        cmocka_unit_test(no_text_equals_only_no_text),
        cmocka_unit_test(a_buffer_grows_and_keeps_its_bytes),
        cmocka_unit_test(an_empty_buffer_is_valid_everywhere),
        cmocka_unit_test(text_is_appended_printed_and_terminated_on_demand),
        cmocka_unit_test(a_cleared_buffer_keeps_its_memory_and_a_finished_one_does_not),
        cmocka_unit_test(a_buffer_that_outgrows_lent_memory_moves_to_its_own),
        cmocka_unit_test(numbers_lie_little_end_first_at_any_address),
        cmocka_unit_test(hexadecimal_is_lower_case),
    };
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
