/* Sets of ids as bitmaps by block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "core/wire/sample.h"
#include "orchestrator/models/blocks.h"

static void ids_fall_into_their_blocks_in_any_order(void **state)
{
    (void)state;
    const uint64_t ids[] = {weir_sample_id(2, 0, 9), weir_sample_id(1, 3, 65535),
                            weir_sample_id(1, 3, 0), weir_sample_id(1, 0, 7),
                            weir_sample_id(2, 0, 9)};
    struct id_blocks blocks = {0};
    orchestrator_id_blocks_add(&blocks, ids, WEIR_COUNT(ids));
    assert_int_equal(blocks.count, 3);
    assert_int_equal(orchestrator_id_blocks_population(&blocks), 4);
    for (size_t i = 1; i < blocks.count; i++)
        assert_true(blocks.at[i - 1].block < blocks.at[i].block);
    const struct id_block *block =
        orchestrator_id_blocks_find(&blocks, (int64_t)(ids[1] >> WEIR_ROW_BITS));
    assert_non_null(block);
    assert_true(weir_bits_get(&block->rows, 0) && weir_bits_get(&block->rows, 65535));
    assert_null(orchestrator_id_blocks_find(&blocks, 12345));
    orchestrator_id_blocks_fini(&blocks);
}

static void shared_and_removed_bits_are_counted(void **state)
{
    (void)state;
    struct weir_bits a = {0}, b = {0};
    for (size_t i = 0; i < 300; i += 2)
        weir_bits_set(&a, i);
    for (size_t i = 0; i < 200; i += 3)
        weir_bits_set(&b, i);
    assert_int_equal(orchestrator_id_bits_shared(&a, &b), 34);
    orchestrator_id_bits_remove(&a, &b);
    assert_int_equal(orchestrator_id_bits_shared(&a, &b), 0);
    assert_int_equal(weir_bits_population(&a), 150 - 34);
    weir_bits_fini(&a);
    weir_bits_fini(&b);
}

static void rows_of_a_block_are_removed_and_no_others(void **state)
{
    (void)state;
    struct id_blocks blocks = {0};
    struct weir_bits rows = {0};
    const uint64_t ids[] = {3, 4, (uint64_t)7 << WEIR_ROW_BITS | 3};
    orchestrator_id_blocks_add(&blocks, ids, 3);
    weir_bits_set(&rows, 3);
    orchestrator_id_blocks_remove_rows(&blocks, 0, &rows);
    orchestrator_id_blocks_remove_rows(&blocks, 5, &rows); /* of which there are none */
    assert_false(orchestrator_id_blocks_has(&blocks, ids[0]));
    assert_true(orchestrator_id_blocks_has(&blocks, ids[1]));
    assert_true(orchestrator_id_blocks_has(&blocks, ids[2]));
    weir_bits_fini(&rows);
    orchestrator_id_blocks_fini(&blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_fall_into_their_blocks_in_any_order),
        cmocka_unit_test(shared_and_removed_bits_are_counted),
        cmocka_unit_test(rows_of_a_block_are_removed_and_no_others),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
