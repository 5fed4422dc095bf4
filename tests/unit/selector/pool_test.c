/* The pool: what was there at a position, whatever came later. */
#include "selector/pipelines/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { DATASET = 3 };

static bool apply(struct selector_pool *pool, uint64_t sequence, uint32_t kind, uint64_t first,
                  uint32_t count)
{
    const struct selector_change change = {
        .sequence = sequence, .first = first, .count = count, .kind = kind};
    return selector_pool_apply(pool, DATASET, &change);
}

static uint64_t row(uint32_t block, uint32_t number)
{
    return weir_sample_id(DATASET, block, number);
}

static size_t count(const struct selector_pool *pool, size_t block, uint64_t after, uint64_t upto)
{
    uint64_t mask[SELECTOR_MASK_WORDS];
    return selector_pool_mask(pool, DATASET, block, after, upto, mask);
}

static void a_window_holds_what_was_added_inside_it(void **state)
{
    (void)state;
    struct selector_pool pool = {0};
    assert_true(apply(&pool, 1, WEIR_CHANGE_ADDED, row(0, 0), 100));
    assert_true(apply(&pool, 2, WEIR_CHANGE_ADDED, row(0, 100), 50));
    assert_true(apply(&pool, 3, WEIR_CHANGE_ADDED, row(1, 0), 7));
    static const struct {
        uint64_t after, upto;
        size_t first, second;
    } ROWS[] = {
        {0, 0, 0, 0},   {0, 1, 100, 0}, {0, 2, 150, 0}, {1, 2, 50, 0},
        {0, 3, 150, 7}, {2, 3, 0, 7},   {3, 9, 0, 0},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(*ROWS); i++) {
        assert_int_equal(count(&pool, 0, ROWS[i].after, ROWS[i].upto), ROWS[i].first);
        assert_int_equal(count(&pool, 1, ROWS[i].after, ROWS[i].upto), ROWS[i].second);
    }
    assert_int_equal(selector_pool_blocks(&pool, DATASET), 2);
    assert_int_equal(selector_pool_rows(&pool, DATASET, 0), 150);
    selector_pool_fini(&pool);
}

static void removals_count_from_their_position_erasures_always(void **state)
{
    (void)state;
    struct selector_pool pool = {0};
    assert_true(apply(&pool, 1, WEIR_CHANGE_ADDED, row(0, 0), 100));
    assert_true(apply(&pool, 2, WEIR_CHANGE_REMOVED, row(0, 10), 5));
    assert_true(apply(&pool, 3, WEIR_CHANGE_REPLACED, row(0, 20), 5));
    assert_true(apply(&pool, 4, WEIR_CHANGE_ERASED, row(0, 63), 2));
    assert_int_equal(count(&pool, 0, 0, 1), 98);
    assert_int_equal(count(&pool, 0, 0, 2), 93);
    assert_int_equal(count(&pool, 0, 0, 3), 88);
    uint64_t mask[SELECTOR_MASK_WORDS];
    assert_int_equal(selector_pool_mask(&pool, DATASET, 0, 0, 9, mask), 88);
    assert_true(mask[0] >> 62 & 1);
    assert_false(mask[0] >> 63 & 1);
    assert_false(mask[1] & 1);
    assert_true(mask[1] >> 1 & 1);
    selector_pool_fini(&pool);
}

static void a_range_may_cross_blocks(void **state)
{
    (void)state;
    struct selector_pool pool = {0};
    assert_true(apply(&pool, 1, WEIR_CHANGE_ADDED, row(0, 0), 3 * WEIR_BLOCK_ROWS + 1));
    for (size_t block = 0; block < 3; block++)
        assert_int_equal(count(&pool, block, 0, 1), WEIR_BLOCK_ROWS);
    assert_int_equal(count(&pool, 3, 0, 1), 1);
    assert_true(apply(&pool, 2, WEIR_CHANGE_ERASED, row(0, WEIR_BLOCK_ROWS - 1), 2));
    assert_int_equal(count(&pool, 0, 0, 2), WEIR_BLOCK_ROWS - 1);
    assert_int_equal(count(&pool, 1, 0, 2), WEIR_BLOCK_ROWS - 1);
    selector_pool_fini(&pool);
}

static void an_impossible_change_is_refused(void **state)
{
    (void)state;
    struct selector_pool pool = {0};
    assert_false(apply(&pool, 1, 0, row(0, 0), 1));
    assert_false(apply(&pool, 1, 5, row(0, 0), 1));
    assert_false(apply(&pool, 1, WEIR_CHANGE_ADDED, row(0, 0), 0));
    assert_false(apply(&pool, 1, WEIR_CHANGE_ADDED, weir_sample_id(DATASET + 1, 0, 0), 1));
    assert_false(apply(&pool, 1, WEIR_CHANGE_ADDED, row((1u << WEIR_BLOCK_BITS) - 1, 0), 1));
    assert_false(apply(&pool, 1, WEIR_CHANGE_ADDED, UINT64_MAX, 2));
    assert_int_equal(selector_pool_blocks(&pool, DATASET), 0);
    selector_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_holds_what_was_added_inside_it),
        cmocka_unit_test(removals_count_from_their_position_erasures_always),
        cmocka_unit_test(a_range_may_cross_blocks),
        cmocka_unit_test(an_impossible_change_is_refused),
    };
    return cmocka_run_group_tests_name("selector/pool", tests, NULL, NULL);
}
