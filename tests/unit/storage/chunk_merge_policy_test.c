/* Choosing chunks to merge: few are left, and no row is written often. */
#include "storage/chunks/chunk_merge_policy.h"

#include "core/base/attributes.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS_MAX = 65536, WRITES_MAX = 7, LEFT_MAX = 64 };

/* A block on its way from empty to full: rows of each chunk, and how often each row was written. */
struct block {
    uint32_t rows[CHUNKS_MAX];
    size_t count;
    uint8_t writes[WEIR_BLOCK_ROWS];
    uint32_t filled;
};

static void write_rows(struct block *block, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        block->writes[i]++;
}

static void merge(struct block *block, struct merge_span span)
{
    uint32_t first = 0, rows = 0;

    for (size_t i = 0; i < span.first; i++)
        first += block->rows[i];
    for (size_t i = span.first; i < span.end; i++)
        rows += block->rows[i];
    write_rows(block, first, rows);
    block->rows[span.first] = rows;
    memmove(block->rows + span.first + 1, block->rows + span.end,
            (block->count - span.end) * sizeof(*block->rows));
    block->count -= span.end - span.first - 1;
}

static void settle(struct block *block)
{
    struct merge_span span = storage_chunk_merge_choose(block->rows, block->count, UINT32_MAX);

    while (span.end > span.first) {
        assert_true(span.end - span.first > 1);
        assert_true(span.end <= block->count);
        merge(block, span);
        span = storage_chunk_merge_choose(block->rows, block->count, UINT32_MAX);
    }
}

static void append(struct block *block, uint32_t rows)
{
    block->rows[block->count++] = rows;
    write_rows(block, block->filled, rows);
    block->filled += rows;
    settle(block);
}

static void fill(struct block *block, struct weir_rng *rng, uint32_t most)
{
    memset(block, 0, sizeof(*block));
    while (block->filled < WEIR_BLOCK_ROWS) {
        uint32_t rows = 1 + (uint32_t)weir_rng_below(rng, most);
        uint32_t room = WEIR_BLOCK_ROWS - block->filled;

        append(block, rows < room ? rows : room);
        assert_true(block->count <= LEFT_MAX);
    }
}

static void a_full_block_is_one_chunk_and_no_row_was_written_often(void **state)
{
    static const uint32_t MOST[] = {1, 3, 50, 1000, 20000, 65536};
    static struct block block;
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 4711);
    for (size_t i = 0; i < WEIR_COUNT(MOST); i++) {
        fill(&block, &rng, MOST[i]);
        assert_int_equal(block.count, 1);
        for (size_t row = 0; row < WEIR_BLOCK_ROWS; row++)
            assert_in_range(block.writes[row], 1, WRITES_MAX);
    }
}

static void few_chunks_of_a_growing_block_stay(void **state)
{
    static const uint32_t SEVEN[7] = {1, 1, 1, 1, 1, 1, 1};
    static const uint32_t EIGHT[9] = {4000, 1, 1, 1, 1, 1, 1, 1, 1};
    static const uint32_t LARGE[2] = {40000, 10};
    struct merge_span span;

    (void)state;
    span = storage_chunk_merge_choose(SEVEN, WEIR_COUNT(SEVEN), UINT32_MAX);
    assert_int_equal(span.first, span.end);
    span = storage_chunk_merge_choose(EIGHT, WEIR_COUNT(EIGHT), UINT32_MAX);
    assert_int_equal(span.first, 1); /* what is large is left alone */
    assert_int_equal(span.end, 9);
    span = storage_chunk_merge_choose(LARGE, WEIR_COUNT(LARGE), UINT32_MAX);
    assert_int_equal(span.first, span.end);
}

static void chunks_of_wide_labels_grow_to_a_bound(void **state)
{
    static const uint32_t SMALL[8] = {100, 100, 100, 100, 100, 100, 100, 100};
    static const uint32_t HALVES[2] = {32768, 32768};
    struct merge_span span;

    (void)state;
    span = storage_chunk_merge_choose(SMALL, WEIR_COUNT(SMALL), 800);
    assert_int_equal(span.end, 8);
    span = storage_chunk_merge_choose(SMALL, WEIR_COUNT(SMALL), 799);
    assert_int_equal(span.first, span.end);
    span = storage_chunk_merge_choose(HALVES, WEIR_COUNT(HALVES), 65535);
    assert_int_equal(span.first, span.end);
}

static void a_full_block_of_two_chunks_is_merged(void **state)
{
    static const uint32_t ROWS[2] = {65535, 1};
    struct merge_span span = storage_chunk_merge_choose(ROWS, 2, UINT32_MAX);

    (void)state;
    assert_int_equal(span.first, 0);
    assert_int_equal(span.end, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_block_is_one_chunk_and_no_row_was_written_often),
        cmocka_unit_test(chunks_of_wide_labels_grow_to_a_bound),
        cmocka_unit_test(few_chunks_of_a_growing_block_stay),
        cmocka_unit_test(a_full_block_of_two_chunks_is_merged),
    };
    return cmocka_run_group_tests_name("storage: merge policy", tests, NULL, NULL);
}
