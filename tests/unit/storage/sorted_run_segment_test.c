/* Segments of sorted runs: whatever is packed comes back, small, and nothing else is believed. */
#include "storage/keys/sorted_run_segment.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/keys/sorted_run_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Hashes as `bits` wide as asked, ids below `ids`; ascending, no two alike. */
static size_t draw(struct weir_rng *rng, struct sorted_run_entry *entries, size_t count,
                   unsigned bits, uint64_t ids)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        entries[i] =
            (struct sorted_run_entry){.hash = bits == 0 ? 7 : weir_rng_next(rng) >> (64 - bits),
                                      .id = weir_rng_below(rng, ids)};
    storage_sorted_run_sort(entries, count, (struct sorted_run_pause){0});
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || sorted_run_entry_before(&entries[kept - 1], &entries[i]))
            entries[kept++] = entries[i];
    }
    return kept;
}

static void every_segment_comes_back(void **state)
{
    static const unsigned BITS[] = {0, 1, 7, 8, 31, 55, 56, 57, 58, 63, 64};
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES], back[SORTED_RUN_SEGMENT_ENTRIES];
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 5);
    for (int round = 0; round < 2000; round++) {
        unsigned bits = BITS[weir_rng_below(&rng, WEIR_COUNT(BITS))];
        uint64_t ids = UINT64_C(1) << weir_rng_below(&rng, SORTED_RUN_ID_BITS + 1);
        size_t count =
            draw(&rng, entries, 1 + weir_rng_below(&rng, SORTED_RUN_SEGMENT_ENTRIES), bits, ids);
        WEIR_AUTO_BUF packed = {0};
        struct weir_error err;
        size_t size, got = 0;

        weir_buf_append_text(&packed, "before");
        size = storage_sorted_run_segment_pack(entries, count, &packed);
        assert_int_equal(packed.size, 6 + size);
        assert_int_equal(
            storage_sorted_run_segment_unpack(weir_bytes(packed.at + 6, size), back, &got, &err),
            WEIR_OK);
        assert_int_equal(got, count);
        assert_memory_equal(back, entries, count * sizeof(*entries));
    }
}

/* 10 M samples in one run: neighbours are 2^64 / 10 M apart. */
static void an_entry_of_a_large_run_takes_nine_bytes(void **state)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES];
    struct weir_rng rng;
    WEIR_AUTO_BUF packed = {0};

    (void)state;
    weir_rng_init(&rng, 5);
    for (size_t i = 0; i < SORTED_RUN_SEGMENT_ENTRIES; i++)
        entries[i] = (struct sorted_run_entry){
            .hash = weir_rng_below(&rng, SORTED_RUN_SEGMENT_ENTRIES * (UINT64_MAX / 10000000)),
            .id = weir_rng_below(&rng, 10000000)};
    storage_sorted_run_sort(entries, SORTED_RUN_SEGMENT_ENTRIES, (struct sorted_run_pause){0});
    assert_true(storage_sorted_run_segment_pack(entries, SORTED_RUN_SEGMENT_ENTRIES, &packed) <
                9 * SORTED_RUN_SEGMENT_ENTRIES);
}

static void bytes_that_are_no_segment_are_corrupt(void **state)
{
    static const struct sorted_run_entry ENTRIES[] = {{10, 5}, {10, 9}, {500, 1}, {90000, 7}};
    struct sorted_run_entry back[SORTED_RUN_SEGMENT_ENTRIES];
    WEIR_AUTO_BUF packed = {0};
    struct weir_error err;
    size_t count;

    (void)state;
    (void)storage_sorted_run_segment_pack(ENTRIES, WEIR_COUNT(ENTRIES), &packed);
    for (size_t size = 0; size < packed.size; size++)
        assert_int_equal(
            storage_sorted_run_segment_unpack(weir_bytes(packed.at, size), back, &count, &err),
            WEIR_CORRUPT);
    packed.at[4] = 0xff; /* the least hash still is: fine; its id too large: not */
    packed.at[17] = 0xff;
    assert_int_equal(storage_sorted_run_segment_unpack(weir_buf_view(&packed), back, &count, &err),
                     WEIR_CORRUPT);
    packed.at[17] = 0;
    memset(packed.at + 4, 0xff, 8); /* the second hash goes around the end */
    assert_int_equal(storage_sorted_run_segment_unpack(weir_buf_view(&packed), back, &count, &err),
                     WEIR_CORRUPT);
    weir_put_u16(packed.at, 0);
    assert_int_equal(storage_sorted_run_segment_unpack(weir_buf_view(&packed), back, &count, &err),
                     WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "not a segment"));
}

static int by_hash(const void *a, const void *b)
{
    return sorted_run_entry_before(a, b) ? -1 : sorted_run_entry_before(b, a);
}

/* Few subjects with many samples each, two of which share their leading bits. */
static void sorting_agrees_with_qsort(void **state)
{
    enum { COUNT = 50000 };
    WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(COUNT, sizeof(*entries));
    WEIR_AUTO_FREE struct sorted_run_entry *right = weir_calloc(COUNT, sizeof(*right));
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 11);
    for (size_t count = 0; count < COUNT; count = 3 * count + 1) {
        for (size_t i = 0; i < count; i++)
            entries[i] = (struct sorted_run_entry){.hash = weir_mix64(weir_rng_below(&rng, 9)) >>
                                                           (weir_rng_below(&rng, 2) * 3),
                                                   .id = i};
        memcpy(right, entries, count * sizeof(*right));
        qsort(right, count, sizeof(*right), by_hash);
        storage_sorted_run_sort(entries, count, (struct sorted_run_pause){0});
        assert_memory_equal(entries, right, count * sizeof(*right));
    }
}

static void count_pause(void *owner)
{
    (*(size_t *)owner)++;
}

static void very_many_are_sorted_in_parts(void **state)
{
    enum { COUNT = 1 << 19, PARTS_MIN = 8 };
    WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(COUNT, sizeof(*entries));
    size_t pauses = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = (struct sorted_run_entry){.hash = weir_mix64(i), .id = i};
    storage_sorted_run_sort(entries, COUNT, (struct sorted_run_pause){count_pause, &pauses});
    assert_in_range(pauses, PARTS_MIN, COUNT / SORTED_RUN_SEGMENT_ENTRIES);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(sorted_run_entry_before(&entries[i - 1], &entries[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_segment_comes_back),
        cmocka_unit_test(an_entry_of_a_large_run_takes_nine_bytes),
        cmocka_unit_test(bytes_that_are_no_segment_are_corrupt),
        cmocka_unit_test(sorting_agrees_with_qsort),
        cmocka_unit_test(very_many_are_sorted_in_parts),
    };

    return cmocka_run_group_tests_name("sorted_run_segment", tests, NULL, NULL);
}
