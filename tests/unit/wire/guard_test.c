/* The scan in front of msgpack-c: what passes, what does not, and that msgpack-c agrees. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/guard.h"

#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *bytes;
    size_t size;
    const char *complaint; /* NULL: passes */
};
#define BYTES(text) text, sizeof(text) - 1

static void assert_judged(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_error err = {0};
        enum weir_status status = weir_guard(weir_bytes(examples[i].bytes, examples[i].size), &err);
        if (examples[i].complaint == NULL) {
            assert_int_equal(status, WEIR_OK);
            continue;
        }
        assert_int_equal(status, WEIR_INVALID);
        if (strstr(err.text, examples[i].complaint) == NULL)
            fail_msg("example %zu: \"%s\" does not say \"%s\"", i, err.text, examples[i].complaint);
    }
}

static void one_object_of_any_used_kind_passes(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {BYTES("\x00"), NULL},
        {BYTES("\x7f"), NULL},
        {BYTES("\xff"), NULL},
        {BYTES("\xc0"), NULL},
        {BYTES("\xc3"), NULL},
        {BYTES("\xcc\xff"), NULL},
        {BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), NULL},
        {BYTES("\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), NULL},
        {BYTES("\xca\x00\x00\x00\x00"), NULL},
        {BYTES("\xcb\x00\x00\x00\x00\x00\x00\x00\x00"), NULL},
        {BYTES("\xa0"), NULL},
        {BYTES("\xa3uvw"), NULL},
        {BYTES("\xd9\x03uvw"), NULL},
        {BYTES("\xc4\x00"), NULL},
        {BYTES("\xc5\x00\x02xy"), NULL},
        {BYTES("\xc6\x00\x00\x00\x02xy"), NULL},
        {BYTES("\x90"), NULL},
        {BYTES("\x93\x01\xa1x\xc0"), NULL},
        {BYTES("\xdc\x00\x02\x01\x02"), NULL},
        {BYTES("\xdd\x00\x00\x00\x02\x01\x02"), NULL},
        {BYTES("\x81\x01\x02"), NULL},
        {BYTES("\xde\x00\x01\x01\x02"), NULL},
        {BYTES("\x92\x91\x90\x80"), NULL},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void what_ends_too_early_is_refused(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {"", 0, "ends too early"},
        {NULL, 0, "ends too early"},
        {BYTES("\xcc"), "ends inside a number"},
        {BYTES("\xcf\x01\x02\x03\x04\x05\x06\x07"), "ends inside a number"},
        {BYTES("\xa1"), "announces more bytes"},
        {BYTES("\xd9"), "ends inside a count"},
        {BYTES("\xc6\x00\x00\x00"), "ends inside a count"},
        {BYTES("\xc6\x00\x00\x00\x03xy"), "announces more bytes"},
        {BYTES("\xdc\x00"), "ends inside a count"},
        {BYTES("\x91"), "announces more objects"},
        {BYTES("\x92\x01"), "announces more objects"},
        {BYTES("\x81\x01"), "announces more objects"},
        {BYTES("\x92\x92\x01\x01"), "announces more objects"},
        {BYTES("\x92\xa1x"), "ends too early"},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void headers_that_ask_for_gigabytes_are_refused(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {BYTES("\xdd\xff\xff\xff\xff"), "announces more objects"},
        {BYTES("\xdf\xff\xff\xff\xff"), "announces more objects"},
        {BYTES("\xdd\x00\x00\x00\x02\xdd\x7f\xff\xff\xff\x01\x02"), "announces more objects"},
        {BYTES("\xc6\xff\xff\xff\xff"), "announces more bytes"},
        {BYTES("\xdb\xff\xff\xff\xff"), "announces more bytes"},
        {BYTES("\xde\xff\xff\x01\x02\x03"), "announces more objects"},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void tags_that_no_message_uses_are_refused(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {BYTES("\xc1"), "tag that no message uses"},
        {BYTES("\xc7\x01\x01x"), "tag that no message uses"},
        {BYTES("\xd4\x01x"), "tag that no message uses"},
        {BYTES("\x91\xd8\x01"
               "0123456789abcdef"),
         "tag that no message uses"},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void bytes_behind_the_object_are_refused(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {BYTES("\x01\x01"), "1 bytes after the message"},
        {BYTES("\x90\x90\x90"), "2 bytes after the message"},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void eight_levels_pass_and_nine_do_not(void **state)
{
    (void)state;
    static const struct example EXAMPLES[] = {
        {BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x01"), NULL},
        {BYTES("\x91\x91\x91\x91\x91\x91\x91\x90"), NULL},
        {BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x01"), "nests deeper than eight"},
        {BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x90"), "nests deeper than eight"},
        /* siblings do not add up */
        {BYTES("\x93\x91\x91\x91\x91\x91\x91\x01\x91\x91\x91\x91\x91\x91\x01\x90"), NULL},
    };
    assert_judged(EXAMPLES, WEIR_COUNT(EXAMPLES));
}

static void an_error_names_the_byte(void **state)
{
    (void)state;
    struct weir_error err;
    assert_int_equal(weir_guard(weir_bytes("\x93\x01\x02\xc1", 4), &err), WEIR_INVALID);
    assert_string_equal(err.text, "malformed at byte 4: holds a tag that no message uses");
}

/* A random object, at most `depth` deep. */
static void pack_random(msgpack_packer *out, struct weir_rng *rng, int depth)
{
    size_t count = weir_rng_below(rng, 4);
    switch (weir_rng_below(rng, depth > 0 ? 8 : 6)) {
    case 0:
        msgpack_pack_uint64(out, weir_rng_next(rng) >> weir_rng_below(rng, 64));
        break;
    case 1:
        msgpack_pack_int64(out, -(int64_t)(weir_rng_next(rng) >> (1 + weir_rng_below(rng, 63))));
        break;
    case 2:
        msgpack_pack_double(out, weir_rng_unit(rng));
        break;
    case 3:
        count *= weir_rng_below(rng, 100);
        msgpack_pack_str(out, count);
        for (size_t i = 0; i < count; i++)
            msgpack_pack_str_body(out, "x", 1);
        break;
    case 4:
        msgpack_pack_bin(out, count);
        msgpack_pack_bin_body(out, "\xc1\xc1\xc1\xc1", count);
        break;
    case 5:
        msgpack_pack_nil(out);
        break;
    case 6:
        msgpack_pack_array(out, count);
        for (size_t i = 0; i < count; i++)
            pack_random(out, rng, depth - 1);
        break;
    default:
        msgpack_pack_map(out, count);
        for (size_t i = 0; i < 2 * count; i++)
            pack_random(out, rng, depth - 1);
    }
}

static bool msgpack_takes_all(const uint8_t *bytes, size_t size)
{
    size_t used = 0;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return got = msgpack_unpack_next(&unpacked, (const char *)bytes, size, &used);
    msgpack_unpacked_destroy(&unpacked);
    return got == MSGPACK_UNPACK_SUCCESS && used == size;
}

static void whatever_msgpack_c_writes_passes_and_no_prefix_of_it_does(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (int i = 0; i < 3000; i++) {
        msgpack_sbuffer buffer;
        msgpack_packer packer;
        msgpack_sbuffer_init(&buffer);
        msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
        pack_random(&packer, &rng, 4);
        assert_int_equal(weir_guard(weir_bytes(buffer.data, buffer.size), NULL), WEIR_OK);
        size_t cut = weir_rng_below(&rng, buffer.size);
        assert_int_equal(weir_guard(weir_bytes(buffer.data, cut), NULL), WEIR_INVALID);
        msgpack_sbuffer_destroy(&buffer);
    }
}

static void whatever_passes_msgpack_c_can_read(void **state)
{
    (void)state;
    static const uint8_t TAGS[] = {0x90, 0x91, 0x92, 0xdc, 0x81, 0xa1, 0xc4, 0xcc, 0xc0, 0x00};
    struct weir_rng rng;
    int passed = 0;
    weir_rng_init(&rng, 2);
    for (int i = 0; i < 300000; i++) {
        uint8_t bytes[12];
        size_t size = 1 + weir_rng_below(&rng, sizeof(bytes));
        for (size_t k = 0; k < size; k++)
            bytes[k] = i % 2 == 0 ? (uint8_t)weir_rng_next(&rng)
                                  : TAGS[weir_rng_below(&rng, WEIR_COUNT(TAGS))];
        if (weir_guard(weir_bytes(bytes, size), NULL) == WEIR_OK) {
            assert_true(msgpack_takes_all(bytes, size));
            passed++;
        }
    }
    assert_true(passed > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_object_of_any_used_kind_passes),
        cmocka_unit_test(what_ends_too_early_is_refused),
        cmocka_unit_test(headers_that_ask_for_gigabytes_are_refused),
        cmocka_unit_test(tags_that_no_message_uses_are_refused),
        cmocka_unit_test(bytes_behind_the_object_are_refused),
        cmocka_unit_test(eight_levels_pass_and_nine_do_not),
        cmocka_unit_test(an_error_names_the_byte),
        cmocka_unit_test(whatever_msgpack_c_writes_passes_and_no_prefix_of_it_does),
        cmocka_unit_test(whatever_passes_msgpack_c_can_read),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
