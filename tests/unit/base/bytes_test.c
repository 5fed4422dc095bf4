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

static void secrets_are_equal_only_in_full(void **state)
{
    (void)state;
    assert_true(weir_str_equal_secretly("", ""));
    assert_true(weir_str_equal_secretly("0123", "0123"));
    assert_false(weir_str_equal_secretly("0123", "012"));
    assert_false(weir_str_equal_secretly("0123", "01234"));
    assert_false(weir_str_equal_secretly("0123", "0124"));
    assert_false(weir_str_equal_secretly("1123", "0123"));
    assert_false(weir_str_equal_secretly("", "0"));
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
    weir_buf_lend(&buf, lent, sizeof(lent));
    assert_int_equal(buf.size, 0);
    weir_buf_append_text(&buf, "1234");
    assert_ptr_equal(buf.at, lent);
    weir_buf_append_text(&buf, "56");
    assert_memory_equal(lent, "1234", sizeof(lent));
    assert_string_equal(weir_buf_text(&buf), "123456");
    weir_buf_fini(&buf);
    weir_buf_lend(&buf, lent, sizeof(lent));
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
    assert_memory_equal(bytes, EXPECTED, sizeof(bytes));
    assert_int_equal(weir_get_u16(bytes + 1), 0x0102);
    assert_int_equal(weir_get_u32(bytes + 3), 0x03040506);
    assert_true(weir_get_u64(bytes + 7) == 0x0708090a0b0c0d0e);
}

static void reals_lie_as_their_bits(void **state)
{
    (void)state;
    WEIR_AUTO_BUF buf = {0};
    weir_buf_append(&buf, "x", 1);
    weir_buf_append_f64(&buf, -0.15625);
    weir_buf_append_u32(&buf, 0xbe200000);
    assert_true(weir_get_f64(buf.at + 1) == -0.15625);
    assert_true(weir_get_f32(buf.at + 9) == -0.15625F);
}

static void what_is_taken_is_gone_from_the_rest(void **state)
{
    (void)state;
    struct weir_bytes rest = weir_bytes("ab\x07\0\0\0\0\0\0\x80xyz", 13), taken;
    uint64_t number = 0;
    assert_true(weir_take(&rest, 2, &taken));
    assert_true(weir_bytes_equal(taken, weir_bytes_of("ab")));
    assert_true(weir_take_u64(&rest, &number));
    assert_true(number == 0x8000000000000007);
    assert_true(weir_take(&rest, 0, &taken));
    assert_int_equal(taken.size, 0);
    assert_true(weir_take(&rest, 3, &taken));
    assert_true(weir_bytes_equal(taken, weir_bytes_of("xyz")));
    assert_int_equal(rest.size, 0);
}

static void more_than_there_is_cannot_be_taken(void **state)
{
    (void)state;
    struct weir_bytes rest = weir_bytes("1234567", 7), taken = weir_bytes_of("before");
    uint64_t number = 5;
    assert_false(weir_take(&rest, 8, &taken));
    assert_false(weir_take(&rest, UINT64_MAX, &taken));
    assert_false(weir_take_u64(&rest, &number));
    assert_true(weir_bytes_equal(rest, weir_bytes_of("1234567")));
    assert_true(weir_bytes_equal(taken, weir_bytes_of("before")));
    assert_int_equal(number, 5);
}

static void a_varint_has_a_byte_for_each_seven_bits(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t size;
    } CASES[] = {
        {0, "\x00", 1},
        {127, "\x7f", 1},
        {128, "\x80\x01", 2},
        {300, "\xac\x02", 2},
        {UINT64_MAX >> 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9},
        {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF buf = {0};
        uint64_t value = 1;
        weir_buf_append_varint(&buf, CASES[i].value);
        struct weir_bytes rest = weir_buf_view(&buf);
        assert_true(weir_bytes_equal(rest, weir_bytes(CASES[i].bytes, CASES[i].size)));
        assert_true(weir_take_varint(&rest, &value));
        assert_true(value == CASES[i].value);
        assert_int_equal(rest.size, 0);
        rest = weir_bytes(CASES[i].bytes, CASES[i].size - 1); /* cut short */
        assert_false(weir_take_varint(&rest, &value));
        assert_int_equal(rest.size, CASES[i].size - 1);
    }
}

static void a_varint_of_more_than_64_bits_is_refused(void **state)
{
    (void)state;
    static const char *const TOO_LARGE[] = {
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    };
    for (size_t i = 0; i < WEIR_COUNT(TOO_LARGE); i++) {
        struct weir_bytes rest = weir_bytes_of(TOO_LARGE[i]);
        uint64_t value = 5;
        assert_false(weir_take_varint(&rest, &value));
        assert_int_equal(value, 5);
        assert_int_equal(rest.size, strlen(TOO_LARGE[i]));
    }
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
        cmocka_unit_test(secrets_are_equal_only_in_full),
        cmocka_unit_test(a_buffer_grows_and_keeps_its_bytes),
        cmocka_unit_test(an_empty_buffer_is_valid_everywhere),
        cmocka_unit_test(text_is_appended_printed_and_terminated_on_demand),
        cmocka_unit_test(a_cleared_buffer_keeps_its_memory_and_a_finished_one_does_not),
        cmocka_unit_test(a_buffer_that_outgrows_lent_memory_moves_to_its_own),
        cmocka_unit_test(numbers_lie_little_end_first_at_any_address),
        cmocka_unit_test(reals_lie_as_their_bits),
        cmocka_unit_test(what_is_taken_is_gone_from_the_rest),
        cmocka_unit_test(more_than_there_is_cannot_be_taken),
        cmocka_unit_test(a_varint_has_a_byte_for_each_seven_bits),
        cmocka_unit_test(a_varint_of_more_than_64_bits_is_refused),
        cmocka_unit_test(hexadecimal_is_lower_case),
    };
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
