/* Positions and tallies: how they move, and how they lie in a checkpoint. */
#include "core/base/rng.h"
#include "core/wire/position.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_fingerprint_depends_on_the_sample_and_the_epoch(void **state)
{
    (void)state;
    /* pinned: committed positions hold sums of these */
    assert_true(weir_fingerprint(0, 0) == weir_mix64(weir_mix64(0x9e3779b97f4a7c15)));
    assert_true(weir_fingerprint(5, 3) == weir_mix64(5 ^ weir_mix64(3 + 0x9e3779b97f4a7c15)));
    assert_true(weir_fingerprint(0, 0) != 0);
    assert_true(weir_fingerprint(1, 0) != weir_fingerprint(0, 1));
    static const uint64_t IDS[] = {7, 1, 9};
    assert_true(weir_fingerprints(IDS, 3, 4) ==
                weir_fingerprint(7, 4) + weir_fingerprint(1, 4) + weir_fingerprint(9, 4));
    assert_true(weir_fingerprint(1, 0) + weir_fingerprint(2, 1) !=
                weir_fingerprint(1, 1) + weir_fingerprint(2, 0));
}

static void the_oldest_batch_moves_over_what_is_finished(void **state)
{
    (void)state;
    struct weir_position position = {0};
    assert_true(weir_position_consume(&position, 1));
    assert_true(weir_position_consume(&position, 3));
    assert_int_equal(position.oldest, 0);
    assert_true(weir_position_consumed(&position, 1));
    assert_false(weir_position_consumed(&position, 0));
    assert_false(weir_position_consumed(&position, 2));
    assert_true(weir_position_consume(&position, 0));
    assert_int_equal(position.oldest, 2);
    assert_true(weir_position_consumed(&position, 3));
    assert_true(weir_position_consume(&position, 2));
    assert_int_equal(position.oldest, 4);
    assert_int_equal(weir_bits_population(&position.ahead), 0);
    weir_position_fini(&position);
}

static void a_batch_is_consumed_once(void **state)
{
    (void)state;
    struct weir_position position = {0};
    assert_true(weir_position_consume(&position, 2));
    assert_false(weir_position_consume(&position, 2));
    assert_true(weir_position_consume(&position, 0));
    assert_false(weir_position_consume(&position, 0));
    weir_position_fini(&position);
}

static void the_farthest_batch_ahead_is_the_4096th(void **state)
{
    (void)state;
    struct weir_position position = {.oldest = 1000};
    WEIR_AUTO_BUF packed = {0};
    assert_true(weir_position_consume(&position, 1000 + WEIR_AHEAD_MAX - 1));
    weir_position_pack(&position, &packed);
    assert_true(packed.size <= WEIR_POSITION_BYTES_MAX);
    for (uint64_t batch = 1000 + WEIR_AHEAD_MAX - 2; batch >= 1000; batch--)
        assert_true(weir_position_consume(&position, batch));
    assert_int_equal(position.oldest, 1000 + WEIR_AHEAD_MAX);
    assert_int_equal(weir_bits_population(&position.ahead), 0);
    weir_position_fini(&position);
}

static void any_order_of_consumption_ends_at_the_same_position(void **state)
{
    (void)state;
    enum { BATCHES = 500 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct weir_rng rng;
        struct weir_position position = {0};
        uint64_t order[BATCHES];
        weir_rng_init(&rng, seed);
        for (size_t i = 0; i < BATCHES; i++) {
            size_t other = weir_rng_below(&rng, i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        for (size_t i = 0; i < BATCHES; i++) {
            assert_false(weir_position_consumed(&position, order[i]));
            assert_true(weir_position_consume(&position, order[i]));
            assert_true(weir_position_consumed(&position, order[i]));
            assert_false(weir_bits_get(&position.ahead, 0));
        }
        assert_int_equal(position.oldest, BATCHES);
        weir_position_fini(&position);
    }
}

static struct weir_position an_example(void)
{
    struct weir_position position = {
        .oldest = 70000000000,
        .tally = {.delivered = 1,
                  .filtered = 2,
                  .failed = 3,
                  .erased = 4,
                  .gone = 5,
                  .fingerprint = UINT64_MAX},
    };
    weir_bits_set(&position.ahead, 1);
    weir_bits_set(&position.ahead, 9);
    return position;
}

static void a_position_lies_in_bytes_as_drawn(void **state)
{
    (void)state;
    // clang-format off
    static const uint8_t EXPECTED[] = {
        1, 0, 0, 0, /* version */
        1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        4, 0, 0, 0, 0, 0, 0, 0,
        5, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* tally */
        0x00, 0x3c, 0x53, 0x4c, 0x10, 0, 0, 0, /* oldest */
        2, 0, 0, 0, 0x02, 0x02, /* bits */
    };
    // clang-format on
    struct weir_position position = an_example();
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&position, &packed);
    assert_int_equal(packed.size, sizeof(EXPECTED));
    assert_memory_equal(packed.at, EXPECTED, sizeof(EXPECTED));
    weir_position_fini(&position);
}

static void what_was_packed_is_unpacked_over_anything(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_position from = an_example(), to = {0}, copy = {0};
    WEIR_AUTO_BUF packed = {0}, again = {0}, third = {0};
    weir_position_consume(&to, 17); /* is forgotten */
    weir_position_pack(&from, &packed);
    assert_int_equal(weir_position_unpack(weir_buf_view(&packed), &to, &err), WEIR_OK);
    assert_int_equal(to.oldest, from.oldest);
    assert_memory_equal(&to.tally, &from.tally, sizeof(to.tally));
    weir_position_pack(&to, &again);
    assert_true(weir_bytes_equal(weir_buf_view(&packed), weir_buf_view(&again)));
    weir_position_copy(&copy, &to);
    weir_position_fini(&to);
    weir_position_pack(&copy, &third);
    assert_true(weir_bytes_equal(weir_buf_view(&packed), weir_buf_view(&third)));
    weir_position_fini(&copy);
    weir_position_fini(&from);
}

static void no_bytes_are_the_beginning(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_position position = an_example();
    struct weir_tally tally = {.delivered = 9};
    assert_int_equal(weir_position_unpack(weir_bytes(NULL, 0), &position, &err), WEIR_OK);
    assert_int_equal(position.oldest, 0);
    assert_int_equal(position.tally.delivered, 0);
    assert_int_equal(weir_bits_population(&position.ahead), 0);
    assert_int_equal(weir_tally_unpack(weir_bytes(NULL, 0), &tally, &err), WEIR_OK);
    assert_int_equal(tally.delivered, 0);
    weir_position_fini(&position);
}

static void malformed_positions_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at; /* byte to change, or SIZE_MAX */
        uint8_t to;
        size_t size; /* 0: all 66 */
        const char *complaint;
    } CASES[] = {
        {0, 3, 0, "version 3, expected 1 or 2"},
        {0, 2, 0, "66 bytes, expected at least 88"},
        {SIZE_MAX, 0, 63, "63 bytes, expected at least 64"},
        {SIZE_MAX, 0, 1, "1 bytes, expected at least 64"},
        {SIZE_MAX, 0, 65, "bytes of bits"},
        {60, 1, 0, "bytes of bits"},
        {61, 4, 0, "bytes of bits"},
        {63, 0xff, 0, "bytes of bits"},
        {64, 0x03, 0, "the oldest batch is marked as consumed"},
        {65, 0, 0, "bits end in zeros"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct weir_position from = an_example(), to = {0};
        WEIR_AUTO_BUF packed = {0};
        weir_position_pack(&from, &packed);
        if (CASES[i].at != SIZE_MAX)
            packed.at[CASES[i].at] = CASES[i].to;
        size_t size = CASES[i].size != 0 ? CASES[i].size : packed.size;
        assert_int_equal(weir_position_unpack(weir_bytes(packed.at, size), &to, &err),
                         WEIR_INVALID);
        assert_non_null(strstr(err.text, CASES[i].complaint));
        assert_int_equal(to.oldest, 0);
        weir_position_fini(&from);
    }
}

static void a_position_that_would_wrap_around_is_refused(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_position from = {.oldest = UINT64_MAX - 5}, to = {0};
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&from, &packed);
    assert_int_equal(weir_position_unpack(weir_buf_view(&packed), &to, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "out of range"));
}

static void a_tally_is_packed_alone_as_well(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_position example = an_example();
    struct weir_tally back = {0};
    WEIR_AUTO_BUF packed = {0};
    weir_tally_pack(&example.tally, &packed);
    assert_int_equal(weir_tally_unpack(weir_buf_view(&packed), &back, &err), WEIR_OK);
    assert_memory_equal(&back, &example.tally, sizeof(back));
    assert_int_equal(weir_tally_unpack(weir_bytes(packed.at, 51), &back, &err), WEIR_INVALID);
    assert_string_equal(err.text, "tally: 51 bytes, expected at least 52");
    packed.at[1] = 1;
    assert_int_equal(weir_tally_unpack(weir_buf_view(&packed), &back, &err), WEIR_INVALID);
    assert_string_equal(err.text, "tally: version 257, expected 1 or 2");
    weir_position_fini(&example);
}

static void digests_are_packed_where_they_are_kept(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_position from = an_example(), back = {0};
    WEIR_AUTO_BUF packed = {0};
    from.tally.digests = (struct weir_digest_sum){.count = 7, .digest = {.bytes = {1, [15] = 2}}};
    weir_position_pack(&from, &packed);
    assert_int_equal(packed.size, 66 + 24);
    assert_int_equal(weir_position_unpack(weir_buf_view(&packed), &back, &err), WEIR_OK);
    assert_memory_equal(&back.tally, &from.tally, sizeof(back.tally));
    assert_int_equal(back.oldest, from.oldest);
    assert_true(weir_bits_population(&back.ahead) == weir_bits_population(&from.ahead));
    packed.at[52] = 0;
    assert_int_equal(weir_position_unpack(weir_buf_view(&packed), &back, &err), WEIR_INVALID);
    assert_string_equal(err.text, "position: version 2 without a digest");
    weir_position_fini(&from);
    weir_position_fini(&back);
}

static void digests_are_added_as_numbers_of_128_bits(void **state)
{
    (void)state;
    struct weir_digest_sum sum = {.count = 2, .digest = {.bytes = {[0] = 0xff, [15] = 0xff}}};
    const struct weir_digest_sum more = {.count = 1, .digest = {.bytes = {[0] = 1, [15] = 1}}};
    const struct weir_digest expected = {.bytes = {[14] = 1}};
    weir_digest_sum_add(&sum, &more);
    assert_int_equal(sum.count, 3);
    assert_memory_equal(&sum.digest, &expected, sizeof(expected));
}

static void the_union_holds_what_either_holds(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct weir_position one = {0}, other = {0}, both = {0};
        for (int i = 0; i < 60; i++) {
            uint64_t batch = weir_rng_below(&rng, 40);
            weir_position_consume(i % 2 == 0 ? &one : &other, batch);
            weir_position_consume(&both, batch);
        }
        one.tally.delivered = 5;
        weir_position_unite(&one, &other);
        assert_int_equal(one.oldest, both.oldest);
        assert_int_equal(weir_position_batches(&one), weir_position_batches(&both));
        for (uint64_t batch = 0; batch < 41; batch++)
            assert_int_equal(weir_position_consumed(&one, batch),
                             weir_position_consumed(&both, batch));
        assert_int_equal(one.tally.delivered, 5);
        weir_position_fini(&one);
        weir_position_fini(&other);
        weir_position_fini(&both);
    }
}

static void a_position_is_set_from_bits_that_may_begin_at_its_oldest(void **state)
{
    (void)state;
    struct weir_position position = {.tally.gone = 2};
    const uint8_t bits[] = {0x0b}; /* 7, 8 and 10 */
    weir_position_set(&position, 7, weir_bytes(bits, sizeof(bits)));
    assert_int_equal(position.oldest, 9);
    assert_true(weir_position_consumed(&position, 10));
    assert_int_equal(weir_position_batches(&position), 10);
    assert_int_equal(position.tally.gone, 2);
    weir_position_fini(&position);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fingerprint_depends_on_the_sample_and_the_epoch),
        cmocka_unit_test(the_oldest_batch_moves_over_what_is_finished),
        cmocka_unit_test(a_batch_is_consumed_once),
        cmocka_unit_test(the_union_holds_what_either_holds),
        cmocka_unit_test(a_position_is_set_from_bits_that_may_begin_at_its_oldest),
        cmocka_unit_test(the_farthest_batch_ahead_is_the_4096th),
        cmocka_unit_test(any_order_of_consumption_ends_at_the_same_position),
        cmocka_unit_test(a_position_lies_in_bytes_as_drawn),
        cmocka_unit_test(what_was_packed_is_unpacked_over_anything),
        cmocka_unit_test(no_bytes_are_the_beginning),
        cmocka_unit_test(malformed_positions_are_refused),
        cmocka_unit_test(a_position_that_would_wrap_around_is_refused),
        cmocka_unit_test(a_tally_is_packed_alone_as_well),
        cmocka_unit_test(digests_are_packed_where_they_are_kept),
        cmocka_unit_test(digests_are_added_as_numbers_of_128_bits),
    };
    return cmocka_run_group_tests_name("position", tests, NULL, NULL);
}
