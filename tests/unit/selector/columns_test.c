/* The bounded cache of columns. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "selector/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void put(struct selector_columns *columns, uint32_t block, uint32_t rows)
{
    uint64_t first = weir_sample_id(1, block, 0);
    uint64_t *ids = weir_calloc(rows, sizeof *ids);
    int64_t *values = weir_calloc(rows, sizeof *values);
    for (uint32_t i = 0; i < rows; i++) {
        ids[i] = first + i;
        values[i] = (int64_t)block * 1000 + i;
    }
    const struct selector_column_block made = {
        .first = first, .rows = rows, .count = rows, .ids = ids, .times = values, .labels = values};
    selector_columns_put(columns, &made);
    free(ids);
    free(values);
}

static const struct selector_column_block *get(struct selector_columns *columns, uint32_t block,
                                               uint32_t rows)
{
    return selector_columns_get(columns, weir_sample_id(1, block, 0), rows);
}

static void a_block_is_there_for_as_many_rows_as_were_asked(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    put(&columns, 4, 10);
    assert_null(get(&columns, 3, 1));
    assert_null(get(&columns, 4, 11));
    const struct selector_column_block *block = get(&columns, 4, 10);
    assert_non_null(block);
    assert_int_equal(block->count, 10);
    assert_int_equal(block->ids[9], weir_sample_id(1, 4, 9));
    assert_int_equal(block->times[9], 4009);
    assert_int_equal(block->labels[3], 4003);
    put(&columns, 4, 11);
    assert_non_null(get(&columns, 4, 11));
    assert_int_equal(columns.count, 1);
    selector_columns_fini(&columns);
}

static void a_change_drops_the_block_that_holds_it(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    put(&columns, 1, 10);
    put(&columns, 2, 10);
    selector_columns_drop(&columns, weir_sample_id(1, 1, 7));
    assert_null(get(&columns, 1, 1));
    assert_non_null(get(&columns, 2, 10));
    selector_columns_fini(&columns);
    assert_int_equal(columns.bytes, 0);
}

static void memory_stays_bounded_and_the_used_blocks_stay(void **state)
{
    (void)state;
    struct selector_columns columns = {0};
    for (uint32_t block = 0; block < 120; block++) {
        put(&columns, block, WEIR_BLOCK_ROWS);
        assert_non_null(get(&columns, 0, 1)); /* used all the time */
        assert_true(columns.bytes <= SELECTOR_COLUMNS_BYTES_MAX);
    }
    assert_null(get(&columns, 1, 1));
    assert_non_null(get(&columns, 119, 1));
    selector_columns_fini(&columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_there_for_as_many_rows_as_were_asked),
        cmocka_unit_test(a_change_drops_the_block_that_holds_it),
        cmocka_unit_test(memory_stays_bounded_and_the_used_blocks_stay),
    };
    return cmocka_run_group_tests_name("selector/columns", tests, NULL, NULL);
}
