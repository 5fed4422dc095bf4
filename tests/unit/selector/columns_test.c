/* Columns that lie packed in a file. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "selector/pipelines/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS_MAX = 1000, ROUNDS = 100 };

/* Some rows of a block, with numbers of any size. */
struct block {
    uint64_t ids[ROWS_MAX];
    int64_t times[ROWS_MAX];
    int64_t labels[ROWS_MAX];
    size_t count;
    uint32_t rows;
    uint64_t first;
};

static void draw_block(struct block *block, uint32_t number, struct weir_rng *rng)
{
    static const unsigned SHIFTS[] = {64, 60, 50, 34, 20, 0};
    block->count = 0;
    block->rows = 1 + (uint32_t)weir_rng_below(rng, ROWS_MAX);
    block->first = weir_sample_id(1, number, 0);
    unsigned shift = SHIFTS[weir_rng_below(rng, WEIR_COUNT(SHIFTS))];
    uint64_t holes = weir_rng_below(rng, 2) * 3;
    for (uint32_t row = 0; row < block->rows; row++) {
        if (holes > 0 && weir_rng_below(rng, holes) == 0)
            continue;
        block->ids[block->count] = block->first + row;
        block->times[block->count] =
            shift == 64 ? -7 : (int64_t)((weir_rng_next(rng) >> shift) - 5000);
        block->labels[block->count++] = (int64_t)weir_rng_next(rng);
    }
}

static enum weir_status put(struct selector_columns *columns, const struct block *block)
{
    struct weir_error err;
    const struct selector_column_block made = {.first = block->first,
                                               .rows = block->rows,
                                               .count = block->count,
                                               .ids = block->ids,
                                               .times = block->times,
                                               .labels = block->labels};
    return selector_columns_put(columns, &made, &err);
}

static void check_block(const struct selector_columns *columns, const struct block *block)
{
    int64_t times[ROWS_MAX], labels[ROWS_MAX];
    uint64_t mask[SELECTOR_MASK_WORDS];
    struct weir_error err;
    assert_true(selector_columns_have(columns, block->first, block->rows));
    assert_false(selector_columns_have(columns, block->first, block->rows + 1));
    memset(mask, 0xff, sizeof(mask));
    assert_int_equal(selector_columns_mask(columns, block->first, mask, &err), WEIR_OK);
    if (block->count < block->rows)
        assert_int_equal(selector_mask_count(mask), block->count);
    for (size_t from = 0; from < block->count; from += 1 + block->count / 3) {
        size_t count = block->count - from;
        assert_int_equal(
            selector_columns_read(columns, block->ids + from, count, times, labels, &err), WEIR_OK);
        assert_memory_equal(times, block->times + from, count * sizeof(*times));
        assert_memory_equal(labels, block->labels + from, count * sizeof(*labels));
    }
}

static void numbers_of_any_size_come_back(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    static struct block blocks[ROUNDS];
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        draw_block(&blocks[i], (i * 37) % ROUNDS, &rng); /* in any order */
        assert_int_equal(put(&columns, &blocks[i]), WEIR_OK);
    }
    for (uint32_t i = 0; i < ROUNDS; i++)
        check_block(&columns, &blocks[i]);
    draw_block(&blocks[0], 0, &rng);
    assert_int_equal(put(&columns, &blocks[0]), WEIR_OK); /* in place of the old */
    check_block(&columns, &blocks[0]);
    check_block(&columns, &blocks[1]);
    selector_columns_fini(&columns);
}

static void what_all_samples_share_takes_no_room(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    static struct block block;
    block = (struct block){.count = ROWS_MAX, .rows = ROWS_MAX, .first = weir_sample_id(1, 0, 0)};
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        block.ids[i] = block.first + i;
        block.times[i] = INT64_C(1767225600000000);
        block.labels[i] = (int64_t)(i % 100) - 50;
    }
    assert_int_equal(put(&columns, &block), WEIR_OK);
    assert_int_equal(columns.bytes, ROWS_MAX); /* a byte a label */
    check_block(&columns, &block);
    selector_columns_fini(&columns);
}

/* From `begin` on. */
static void expect_zeros(const struct selector_columns *columns, uint64_t begin)
{
    static char bytes[8 * ROWS_MAX];
    ssize_t size = pread(columns->file - 1, bytes, sizeof(bytes), (off_t)begin);
    assert_true(size > 0);
    for (ssize_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], 0);
}

static void a_change_drops_the_block_and_its_bytes(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    static struct block blocks[2];
    struct weir_rng rng;
    weir_rng_init(&rng, 2);
    for (uint32_t i = 0; i < 2; i++) {
        draw_block(&blocks[i], i, &rng);
        assert_int_equal(put(&columns, &blocks[i]), WEIR_OK);
    }
    uint64_t begin = columns.bytes;
    draw_block(&blocks[1], 1, &rng);
    assert_int_equal(put(&columns, &blocks[1]), WEIR_OK);
    selector_columns_drop(&columns, blocks[1].first + 1);
    assert_false(selector_columns_have(&columns, blocks[1].first, 1));
    check_block(&columns, &blocks[0]);
    expect_zeros(&columns, begin);
    selector_columns_trim(&columns); /* more than half is lost */
    assert_int_equal(columns.bytes, 0);
    assert_false(selector_columns_have(&columns, blocks[0].first, 1));
    selector_columns_fini(&columns);
}

static void what_is_cleared_is_no_longer_in_the_file(void **state)
{
    (void)state;
    struct selector_columns columns = {0}, view;
    static struct block blocks[2];
    struct weir_rng rng;
    weir_rng_init(&rng, 4);
    for (uint32_t i = 0; i < 2; i++) {
        draw_block(&blocks[i], i, &rng);
        assert_int_equal(put(&columns, &blocks[i]), WEIR_OK);
    }
    selector_columns_view(&columns, &view);
    selector_columns_clear(&columns);
    assert_false(selector_columns_have(&columns, blocks[0].first, 1));
    check_block(&view, &blocks[1]);
    selector_columns_unview(&columns, &view);
    expect_zeros(&columns, 0);
    selector_columns_clear(&columns);
    assert_int_equal(columns.file, 0);
    selector_columns_fini(&columns);
}

static void a_view_sees_what_was_there_until_it_is_given_back(void **state)
{
    (void)state;
    struct selector_columns columns = {0}, view, other;
    static struct block blocks[2];
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    draw_block(&blocks[0], 0, &rng);
    draw_block(&blocks[1], 1, &rng);
    assert_int_equal(put(&columns, &blocks[0]), WEIR_OK);
    selector_columns_view(&columns, &view);
    selector_columns_view(&columns, &other);
    selector_columns_drop(&columns, blocks[0].first);
    selector_columns_trim(&columns); /* not while somebody looks */
    uint64_t end = columns.bytes;
    assert_int_equal(put(&columns, &blocks[1]), WEIR_OK);
    check_block(&view, &blocks[0]);
    assert_false(selector_columns_have(&view, blocks[1].first, 1));
    selector_columns_unview(&columns, &view);
    check_block(&other, &blocks[0]);
    assert_int_equal(columns.hole_count, 1);
    selector_columns_unview(&columns, &other);
    assert_int_equal(columns.hole_count, 0);
    assert_false(selector_columns_have(&columns, blocks[0].first, 1));
    check_block(&columns, &blocks[1]);
    assert_int_equal(ftruncate(columns.file - 1, (off_t)end), 0);
    expect_zeros(&columns, 0);
    selector_columns_fini(&columns);
}

static void columns_of_other_rows_are_refused(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    struct block block = {.count = 1, .rows = 5, .first = weir_sample_id(1, 3, 0)};
    block.ids[0] = block.first + 5;
    assert_int_equal(put(&columns, &block), WEIR_CORRUPT);
    block.ids[0] = block.first - 1;
    assert_int_equal(put(&columns, &block), WEIR_CORRUPT);
    block.ids[0] = block.first + 4;
    assert_int_equal(put(&columns, &block), WEIR_OK);
    selector_columns_fini(&columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_any_size_come_back),
        cmocka_unit_test(what_all_samples_share_takes_no_room),
        cmocka_unit_test(a_change_drops_the_block_and_its_bytes),
        cmocka_unit_test(what_is_cleared_is_no_longer_in_the_file),
        cmocka_unit_test(a_view_sees_what_was_there_until_it_is_given_back),
        cmocka_unit_test(columns_of_other_rows_are_refused),
    };
    return cmocka_run_group_tests_name("selector/columns", tests, NULL, NULL);
}
