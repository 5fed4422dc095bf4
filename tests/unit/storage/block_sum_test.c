/* Sums of blocks: where each stands, what it depends on, and which blocks are still to be looked at. */
#include "storage/catalog/fresh.h"
#include "storage/sums/block_set.h"
#include "storage/sums/first_reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 300, BLOCKS = 300 };

static const struct storage_secret SECRET = {.bytes = {1, 2, 3}};

static void every_block_has_a_place_of_its_own(void **state)
{
    (void)state;
    for (uint64_t file = 0; file < FILES; file++) {
        for (uint64_t block = 0; block < BLOCKS; block++) {
            const struct block_at at = {7, file, block};
            struct sum_key key = storage_sum_key(&at);
            size_t slot = storage_sum_slot(&at);
            struct block_at back = storage_sum_block(&key, slot);

            assert_true(slot < SUM_SLOTS);
            assert_int_equal(back.dataset, 7);
            assert_int_equal(back.file, file);
            assert_int_equal(back.block, block);
        }
    }
}

static void a_sum_depends_on_secret_place_and_bytes(void **state)
{
    const struct storage_secret other = {.bytes = {1, 2, 4}};
    const struct block_at at = {1, 2, 3};
    const struct block_at places[] = {{2, 2, 3}, {1, 3, 3}, {1, 2, 4}};
    const struct weir_bytes bytes = weir_bytes("abc", 3);
    uint64_t sum = storage_block_sum(&SECRET, &at, bytes);

    (void)state;
    assert_int_equal(storage_block_sum(&SECRET, &at, bytes), sum);
    assert_int_not_equal(storage_block_sum(&other, &at, bytes), sum);
    assert_int_not_equal(storage_block_sum(&SECRET, &at, weir_bytes("abd", 3)), sum);
    assert_int_not_equal(storage_block_sum(&SECRET, &at, weir_bytes("ab", 2)), sum);
    for (size_t i = 0; i < 3; i++)
        assert_int_not_equal(storage_block_sum(&SECRET, &places[i], bytes), sum);
}

static void a_row_is_read_back_as_it_was_written(void **state)
{
    struct block_sum sums[SUM_SLOTS] = {{0}}, back[SUM_SLOTS];
    WEIR_AUTO_BUF packed = {0};
    struct weir_error err;

    (void)state;
    storage_sums_pack(sums, &packed);
    assert_int_equal(packed.size, 0);
    sums[0] = (struct block_sum){UINT64_MAX, 1, false};
    sums[3] = (struct block_sum){7, SUM_BLOCK_BYTES, true};
    sums[5] = (struct block_sum){12, SUM_DAMAGED, false};
    sums[6] = (struct block_sum){0, 0, true};
    storage_sums_pack(sums, &packed);
    assert_int_equal(packed.size, 7 * SUM_ENTRY_BYTES);
    assert_int_equal(storage_sums_unpack(weir_buf_view(&packed), back, &err), WEIR_OK);
    assert_memory_equal(&back[5].sum, &sums[5].sum, sizeof(sums[5].sum));
    assert_int_equal(back[5].length, SUM_DAMAGED);
    assert_false(back[5].is_unproven);
    assert_int_equal(back[0].length, 1);
    assert_false(back[0].is_unproven);
    assert_int_equal(back[3].length, SUM_BLOCK_BYTES);
    assert_true(back[3].is_unproven);
    assert_int_equal(back[6].length, 0);
    assert_true(back[6].is_unproven);
    assert_int_equal(back[1].length, 0);
}

static void rows_that_cannot_be_are_refused(void **state)
{
    struct block_sum back[SUM_SLOTS];
    uint8_t bytes[(SUM_SLOTS + 1) * SUM_ENTRY_BYTES] = {0};
    struct weir_error err;

    (void)state;
    assert_int_equal(storage_sums_unpack(weir_bytes(bytes, 7), back, &err), WEIR_CORRUPT);
    assert_int_equal(storage_sums_unpack(weir_bytes(bytes, sizeof(bytes)), back, &err),
                     WEIR_CORRUPT);
    weir_put_u32(bytes + 8, SUM_BLOCK_BYTES + 1);
    assert_int_equal(storage_sums_unpack(weir_bytes(bytes, SUM_ENTRY_BYTES), back, &err),
                     WEIR_CORRUPT);
}

static void the_last_block_is_as_long_as_its_file(void **state)
{
    (void)state;
    assert_int_equal(storage_block_length(0, 0), 0);
    assert_int_equal(storage_block_length(0, 5), 5);
    assert_int_equal(storage_block_length(0, SUM_BLOCK_BYTES), SUM_BLOCK_BYTES);
    assert_int_equal(storage_block_length(1, SUM_BLOCK_BYTES), 0);
    assert_int_equal(storage_block_length(1, SUM_BLOCK_BYTES + 1), 1);
}

static size_t count_waiting(struct first_reads *reads)
{
    struct block_at at;
    size_t count = 0;

    while (storage_first_reads_next(reads, &at))
        count++;
    return count;
}

static void a_block_is_looked_at_when_it_is_asked_for_first(void **state)
{
    struct first_reads *reads = storage_first_reads_new();

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint64_t file = 0; file < FILES; file++) {
            for (uint64_t block = 0; block < BLOCKS; block++)
                storage_first_reads_want(reads, &(struct block_at){1, file, block});
        }
        assert_int_equal(count_waiting(reads), round == 0 ? FILES * BLOCKS : 0);
    }
    storage_first_reads_saw(reads, &(struct block_at){2, 0, 0});
    storage_first_reads_want(reads, &(struct block_at){2, 0, 0});
    assert_int_equal(count_waiting(reads), 0);
    storage_first_reads_again(reads, &(struct block_at){2, 0, 0});
    storage_first_reads_again(reads, &(struct block_at){2, 0, 0});
    assert_int_equal(count_waiting(reads), 1);
    storage_first_reads_free(reads);
}

static void damage_is_found_by_the_bytes_that_it_lies_in(void **state)
{
    struct block_set set = {0};
    const uint64_t at = 5 * SUM_BLOCK_BYTES;

    (void)state;
    assert_false(storage_block_set_touch(&set, 1, 3, 0, UINT64_MAX));
    assert_true(storage_block_set_add(&set, &(struct block_at){1, 3, 5}));
    assert_false(storage_block_set_add(&set, &(struct block_at){1, 3, 5}));
    assert_true(storage_block_set_add(&set, &(struct block_at){1, 2, 9}));
    assert_true(storage_block_set_touch(&set, 1, 3, at + 7, 1));
    assert_true(storage_block_set_touch(&set, 1, 3, at - 1, 2));
    assert_false(storage_block_set_touch(&set, 1, 3, at - 1, 1));
    assert_false(storage_block_set_touch(&set, 1, 3, at + SUM_BLOCK_BYTES, 100));
    assert_false(storage_block_set_touch(&set, 2, 3, at, 100));
    assert_true(storage_block_set_touch(&set, 1, 3, 0, UINT64_MAX));
    assert_true(storage_block_set_remove(&set, &(struct block_at){1, 3, 5}));
    assert_false(storage_block_set_remove(&set, &(struct block_at){1, 3, 5}));
    assert_int_equal(set.count, 1);
    storage_block_set_fini(&set);
}

static void a_file_that_grows_is_noted_as_one_and_too_many_as_all(void **state)
{
    struct fresh fresh = {0};

    (void)state;
    storage_fresh_add(&fresh, (struct fresh_bytes){1, 10, 20});
    storage_fresh_add(&fresh, (struct fresh_bytes){1, 20, 30});
    assert_int_equal(fresh.count, 1);
    assert_int_equal(fresh.at[0].from, 10);
    assert_int_equal(fresh.at[0].to, 30);
    storage_fresh_add(&fresh, (struct fresh_bytes){1, 0, 0}); /* it may be gone */
    assert_int_equal(fresh.count, 2);
    for (uint64_t file = 2; file < FRESH_MAX; file++)
        storage_fresh_add(&fresh, (struct fresh_bytes){file, 0, 1});
    assert_false(fresh.is_lost);
    storage_fresh_add(&fresh, (struct fresh_bytes){FRESH_MAX, 0, 1});
    assert_true(fresh.is_lost);
    storage_fresh_fini(&fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_a_place_of_its_own),
        cmocka_unit_test(a_sum_depends_on_secret_place_and_bytes),
        cmocka_unit_test(a_row_is_read_back_as_it_was_written),
        cmocka_unit_test(rows_that_cannot_be_are_refused),
        cmocka_unit_test(the_last_block_is_as_long_as_its_file),
        cmocka_unit_test(a_block_is_looked_at_when_it_is_asked_for_first),
        cmocka_unit_test(damage_is_found_by_the_bytes_that_it_lies_in),
        cmocka_unit_test(a_file_that_grows_is_noted_as_one_and_too_many_as_all),
    };

    return cmocka_run_group_tests_name("storage: blocks and their sums", tests, NULL, NULL);
}
