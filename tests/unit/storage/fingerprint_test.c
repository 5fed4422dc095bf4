/* Passages of erased content are found wherever they stand, and nothing else is. */
#include "storage/erasure/fingerprint.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct storage_secret SECRET = {.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};

struct hits {
    size_t count;
    uint64_t first;
    size_t length;
};

static void on_match(void *owner, uint64_t offset, size_t length, uint64_t print)
{
    struct hits *hits = owner;

    (void)print;
    if (hits->count++ == 0) {
        hits->first = offset;
        hits->length = length;
    }
}

static void fill(uint8_t *bytes, size_t size, uint64_t seed)
{
    struct weir_rng rng;

    weir_rng_init(&rng, seed);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)weir_rng_next(&rng);
}

static struct matcher *matcher_of(const struct fingerprints *prints)
{
    struct matcher *matcher =
        storage_matcher_new(prints->long_count + prints->short_count, &SECRET);

    assert_true(storage_matcher_add(matcher, prints));
    return matcher;
}

/* Searches `text` for `erased`, in pieces of `piece` bytes. */
static struct hits search(struct weir_bytes erased, struct weir_bytes text, size_t piece)
{
    struct fingerprints prints = {0};
    struct matcher *matcher;
    struct hits hits = {0};

    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE, erased);
    matcher = matcher_of(&prints);
    storage_matcher_reset(matcher);
    for (size_t at = 0; at < text.size; at += piece)
        storage_matcher_feed(
            matcher, weir_bytes(text.at + at, text.size - at < piece ? text.size - at : piece),
            on_match, &hits);
    storage_matcher_free(matcher);
    storage_fingerprints_fini(&prints);
    return hits;
}

static void content_is_found_however_the_stream_is_cut(void **state)
{
    static const size_t PIECES[] = {1, 7, 64, 1000, 100000};
    uint8_t erased[500], text[5000];

    (void)state;
    fill(erased, sizeof(erased), 1);
    fill(text, sizeof(text), 2);
    memcpy(text + 1234, erased, sizeof(erased));
    for (size_t i = 0; i < WEIR_COUNT(PIECES); i++) {
        struct hits hits =
            search(weir_bytes(erased, sizeof(erased)), weir_bytes(text, sizeof(text)), PIECES[i]);

        assert_int_equal(hits.count, PASSAGES_PER_SAMPLE);
        assert_int_equal(hits.first, 1234);
        assert_int_equal(hits.length, PASSAGE_LONG);
    }
}

static void a_part_of_the_content_is_enough(void **state)
{
    uint8_t erased[2000], text[400];

    (void)state;
    fill(erased, sizeof(erased), 1);
    fill(text, sizeof(text), 2);
    memcpy(text + 50, erased + 900, 300);
    assert_true(
        search(weir_bytes(erased, sizeof(erased)), weir_bytes(text, sizeof(text)), 64).count > 0);
}

static void short_content_is_found_by_short_passages(void **state)
{
    struct hits hits = search(weir_bytes_of("{\"user\":\"anna\",\"n\":1}"),
                              weir_bytes_of("….{\"user\":\"anna\",\"n\":1}\n"), 5);

    (void)state;
    assert_true(hits.count > 0);
    assert_int_equal(hits.length, PASSAGE_SHORT);
}

static void content_that_cannot_be_searched_for_is_counted(void **state)
{
    static const char RULER[] =
        "------------------------------------------------------------------";
    struct fingerprints prints = {0};

    (void)state;
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE, weir_bytes_of("1,anna,7"));
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE, weir_bytes_of(RULER));
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE, weir_bytes_of(""));
    assert_int_equal(prints.long_count + prints.short_count, 0);
    assert_int_equal(prints.unsearched, 2);
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE,
                             weir_bytes_of("1,anna,the mill of the herons"));
    assert_true(prints.short_count > 0);
    assert_int_equal(prints.unsearched, 2);
    storage_fingerprints_fini(&prints);
}

/* Content with zeroes at its end, between two holes: the places are those of a stream read to the last
 * byte. */
static void a_hole_is_so_many_zeroes(void **state)
{
    static const size_t HOLES[] = {0, 1, 63, 64, 65, 1000};
    uint8_t erased[300] = {0}, text[2600];
    struct fingerprints prints = {0};

    (void)state;
    fill(erased, 250, 1);
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE,
                             weir_bytes(erased, sizeof(erased)));
    for (size_t i = 0; i < WEIR_COUNT(HOLES); i++) {
        struct matcher *matcher = matcher_of(&prints);
        struct hits whole = {0}, holed = {0};

        memset(text, 0, sizeof(text));
        memcpy(text + HOLES[i], erased, 250);
        storage_matcher_feed(matcher, weir_bytes(text, 250 + 2 * HOLES[i]), on_match, &whole);
        storage_matcher_reset(matcher);
        storage_matcher_feed_zeros(matcher, HOLES[i], on_match, &holed);
        storage_matcher_feed(matcher, weir_bytes(erased, 250), on_match, &holed);
        storage_matcher_feed_zeros(matcher, HOLES[i], on_match, &holed);
        assert_true(whole.count > 0);
        assert_memory_equal(&whole, &holed, sizeof(whole));
        storage_matcher_free(matcher);
    }
    storage_fingerprints_fini(&prints);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    uint8_t erased[500], text[5000], blank[5000] = {0};

    (void)state;
    fill(erased, sizeof(erased), 1);
    fill(text, sizeof(text), 2);
    assert_int_equal(
        search(weir_bytes(erased, sizeof(erased)), weir_bytes(text, sizeof(text)), 64).count, 0);
    assert_int_equal(
        search(weir_bytes(blank, sizeof(blank)), weir_bytes(blank, sizeof(blank)), 64).count, 0);
}

/* All of them in one step would keep others waiting. */
static void large_tables_are_taken_into_memory_in_pieces(void **state)
{
    enum { PRINTS = 1 << 20, TABLE_BYTES = 2 * PRINTS * 8, PIECE_BYTES_MAX = 8 << 20 };
    struct matcher *matcher = storage_matcher_new(PRINTS, &SECRET);
    size_t pieces = 1;

    (void)state;
    while (!storage_matcher_warm(matcher))
        pieces++;
    assert_in_range(pieces, TABLE_BYTES / PIECE_BYTES_MAX, TABLE_BYTES);
    assert_true(storage_matcher_warm(matcher));
    storage_matcher_free(matcher);
}

static void they_can_be_stored_and_damage_is_noticed(void **state)
{
    struct fingerprints prints = {0}, back = {0};
    WEIR_AUTO_BUF packed = {0};
    struct weir_bytes rest;
    uint8_t erased[500];

    (void)state;
    fill(erased, sizeof(erased), 1);
    storage_fingerprints_add(&prints, &SECRET, PASSAGES_PER_SAMPLE,
                             weir_bytes(erased, sizeof(erased)));
    storage_fingerprints_pack(&prints, &packed);
    weir_buf_append_text(&packed, "behind");
    rest = weir_buf_view(&packed);
    assert_true(storage_fingerprints_unpack(&rest, &back));
    assert_true(weir_bytes_equal(rest, weir_bytes_of("behind")));
    assert_int_equal(back.long_count, prints.long_count);
    assert_memory_equal(back.longs, prints.longs, prints.long_count * sizeof(uint64_t));
    rest = weir_bytes(packed.at, packed.size - strlen("behind") - 1);
    assert_false(storage_fingerprints_unpack(&rest, &back));
    weir_put_u64(packed.at, UINT64_MAX);
    rest = weir_buf_view(&packed);
    assert_false(storage_fingerprints_unpack(&rest, &back));
    storage_fingerprints_fini(&back);
    storage_fingerprints_fini(&prints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_found_however_the_stream_is_cut),
        cmocka_unit_test(a_part_of_the_content_is_enough),
        cmocka_unit_test(short_content_is_found_by_short_passages),
        cmocka_unit_test(content_that_cannot_be_searched_for_is_counted),
        cmocka_unit_test(a_hole_is_so_many_zeroes),
        cmocka_unit_test(nothing_is_found_where_nothing_is),
        cmocka_unit_test(large_tables_are_taken_into_memory_in_pieces),
        cmocka_unit_test(they_can_be_stored_and_damage_is_noticed),
    };
    return cmocka_run_group_tests_name("storage: fingerprints", tests, NULL, NULL);
}
