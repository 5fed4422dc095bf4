/* UTF-8: what is well formed comes back, what is not becomes one replacement per piece. */
#include "core/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_code_point_survives(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        uint8_t bytes[4];
        size_t size = weir_utf8_encode(code, bytes), taken;
        assert_int_equal(weir_utf8_decode(weir_bytes(bytes, size), &taken), code);
        assert_int_equal(taken, size);
    }
}

/* The examples of Unicode 15, section 3.9: pieces that are replaced as one. */
static const struct {
    const char *bytes;
    size_t size;
    size_t pieces[8]; /* bytes of each decoded piece, in order */
} CASES[] = {
    {"\xc0\xaf", 2, {1, 1}},                    /* overlong */
    {"\xe0\x9f\xbf", 3, {1, 1, 1}},             /* overlong */
    {"\xed\xa0\x80", 3, {1, 1, 1}},             /* surrogate */
    {"\xf4\x90\x80\x80", 4, {1, 1, 1, 1}},      /* beyond U+10FFFF */
    {"\xe1\x80\xe2\xf0\x91\x92", 6, {2, 1, 3}}, /* truncated sequences */
    {"\xf0\x9f\x98", 3, {3}},                   /* cut off at the end */
    {"\x80", 1, {1}},
    {"\xff\xfe", 2, {1, 1}},
};

static void a_text_is_repaired_byte_by_byte(void **state)
{
    (void)state;
    static const struct {
        const char *broken, *whole;
    } REPAIRS[] = {
        {"", ""},
        {"größe 5 €", "größe 5 €"},
        {"a\xff", "a?"},
        {"\xc3", "?"},                 /* cut */
        {"\xe2\x82", "??"},            /* cut */
        {"\xc0\xaf.", "??."},          /* overlong */
        {"\xed\xa0\x80", "???"},       /* a surrogate */
        {"M\xfcller\tx", "M?ller\tx"}, /* Latin-1 */
    };
    for (size_t i = 0; i < WEIR_COUNT(REPAIRS); i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%s", REPAIRS[i].broken);
        weir_utf8_repair(text);
        assert_string_equal(text, REPAIRS[i].whole);
    }
}

static void ill_formed_bytes_are_replaced_piece_by_piece(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t at = 0;
        for (size_t piece = 0; at < CASES[i].size; piece++) {
            size_t taken;
            struct weir_bytes rest = weir_bytes(CASES[i].bytes + at, CASES[i].size - at);
            assert_int_equal(weir_utf8_decode(rest, &taken), WEIR_UTF8_REPLACEMENT);
            assert_int_equal(taken, CASES[i].pieces[piece]);
            at += taken;
        }
    }
}

static void a_text_is_cut_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size_max, size;
    } CUTS[] = {
        {"abc", 3, 3},
        {"abc", 2, 2},
        {"abc", 9, 3},
        {"abc", 0, 0},
        {"a\xc3\xa9z", 1, 1},
        {"a\xc3\xa9z", 2, 1},
        {"a\xc3\xa9z", 3, 3},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xf0\x9f\x98\x80", 3, 0},
        {"\x80\x80\x80", 2, 0},
    };
    for (size_t i = 0; i < WEIR_COUNT(CUTS); i++)
        assert_int_equal(weir_utf8_cut(weir_bytes_of(CUTS[i].text), CUTS[i].size_max),
                         CUTS[i].size);
}

static void a_text_that_is_too_long_ends_in_an_ellipsis(void **state)
{
    (void)state;
    WEIR_AUTO_BUF text = {0};
    weir_buf_append_text(&text, "na\u00efve");
    weir_utf8_shorten(&text, text.size);
    assert_string_equal(weir_buf_text(&text), "na\u00efve");
    weir_utf8_shorten(&text, 3); /* in the midst of a character of two bytes */
    assert_string_equal(weir_buf_text(&text), "na\u2026");
}

static void a_text_that_a_buffer_is_too_small_for_is_cut_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size; /* of the buffer */
        const char *kept;
    } TEXTS[] = {
        {"network", 8, "network"},
        {"network", 7, "networ"},
        {"caf\303\251", 6, "caf\303\251"},
        {"caf\303\251", 5, "caf"},
        {"\342\202\254 5", 4, "\342\202\254"},
        {"\342\202\254 5", 3, ""},
        {"a\360\237\230\200", 5, "a"},
        {"a\360\237\230\200b", 6, "a\360\237\230\200"},
        {"", 1, ""},
        {"gr\374n", 9, "gr?n"}, /* Latin-1 */
        {"gr\374n", 4, "gr?"},  /* …, whose last byte is no character that goes on */
        {"\200\200\200\200\200", 4, "???"},
    };
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        char kept[16];
        memset(kept, 'x', sizeof(kept));
        weir_utf8_print(kept, TEXTS[i].size, "%s", TEXTS[i].text);
        assert_string_equal(kept, TEXTS[i].kept);
    }
}

static void whole_characters_end_before_the_first_byte_that_belongs_to_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t whole;
    } TEXTS[] = {{"", 0}, {"a", 1}, {"gr\303\274n", 5}, {"gr\374n", 2}, {"\303", 0}, {"ab\303", 2}};
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++)
        assert_int_equal(weir_utf8_whole(weir_bytes_of(TEXTS[i].text)), TEXTS[i].whole);
}

static void text_in_utf_16_is_known_by_its_beginning(void **state)
{
    static const char LITTLE[] = "t\0i\0m\0e\0,\0x\0,\0y\0", BIG[] = "\0t\0i\0m\0e\0,\0x\0,\0y";

    (void)state;
    assert_true(weir_utf8_is_utf16(weir_bytes_of("\xff\xfe")));
    assert_true(weir_utf8_is_utf16(weir_bytes_of("\xfe\xff...")));
    assert_true(weir_utf8_is_utf16(weir_bytes(LITTLE, 16)));
    assert_true(weir_utf8_is_utf16(weir_bytes(BIG, 16)));
    assert_false(weir_utf8_is_utf16(weir_bytes(LITTLE, 15))); /* too little is there to tell */
    assert_false(weir_utf8_is_utf16(weir_bytes_of("time,x,y and what follows")));
    assert_false(weir_utf8_is_utf16(weir_bytes("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives),
        cmocka_unit_test(a_text_is_repaired_byte_by_byte),
        cmocka_unit_test(whole_characters_end_before_the_first_byte_that_belongs_to_none),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(a_text_that_a_buffer_is_too_small_for_is_cut_between_characters),
        cmocka_unit_test(ill_formed_bytes_are_replaced_piece_by_piece),
        cmocka_unit_test(a_text_that_is_too_long_ends_in_an_ellipsis),
        cmocka_unit_test(text_in_utf_16_is_known_by_its_beginning),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
