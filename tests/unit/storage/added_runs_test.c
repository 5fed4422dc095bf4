/* The changes that added the rows of a chunk: they come back, and a position means the same rows. */
#include "storage/catalog/added_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct added_run RUNS[] = {{0, 1}, {10, 2}, {11, 7}, {40, 8}};
enum { RUN_COUNT = 4, ROWS = 50 };

static void add_runs(struct dataset *dataset)
{
    for (size_t i = 0; i < RUN_COUNT; i++)
        storage_dataset_add_run(dataset, RUNS[i]);
    dataset->next_row = ROWS;
}

static void a_position_is_a_row(void **state)
{
    struct dataset dataset = {0};

    (void)state;
    add_runs(&dataset);
    assert_int_equal(storage_dataset_row_at(&dataset, 0), 0);
    assert_int_equal(storage_dataset_row_at(&dataset, 1), 10);
    assert_int_equal(storage_dataset_row_at(&dataset, 2), 11);
    assert_int_equal(storage_dataset_row_at(&dataset, 6), 11); /* 3 to 6 removed something */
    assert_int_equal(storage_dataset_row_at(&dataset, 7), 40);
    assert_int_equal(storage_dataset_row_at(&dataset, 8), ROWS);
    free(dataset.runs);
}

static void runs_of_a_merged_chunk_come_back(void **state)
{
    const struct chunk_ref chunks[] = {{.first_row = 0, .count = 10},
                                       {.first_row = 10, .count = 40}};
    struct dataset before = {0}, after = {0};
    struct weir_error err;

    (void)state;
    add_runs(&before);
    for (size_t i = 0; i < 2; i++) {
        WEIR_AUTO_BUF packed = {0};

        storage_added_runs_pack(&before, &chunks[i], &packed);
        assert_int_equal(packed.size == 0, i == 0); /* one change needs no list */
        assert_int_equal(storage_added_runs_unpack(&after, &chunks[i], i == 0 ? 1 : 8,
                                                   weir_buf_view(&packed), &err),
                         WEIR_OK);
    }
    assert_int_equal(after.run_count, RUN_COUNT);
    assert_memory_equal(after.runs, before.runs, RUN_COUNT * sizeof(*after.runs));
    free(before.runs);
    free(after.runs);
}

static void a_cut_list_is_corrupt_wherever_it_is_cut(void **state)
{
    const struct chunk_ref chunk = {.count = ROWS};
    struct dataset dataset = {0}, back = {0};
    WEIR_AUTO_BUF packed = {0};
    struct weir_error err;

    (void)state;
    add_runs(&dataset);
    storage_added_runs_pack(&dataset, &chunk, &packed);
    for (size_t size = 1; size < packed.size; size++)
        assert_int_equal(
            storage_added_runs_unpack(&back, &chunk, 8, weir_bytes(packed.at, size), &err),
            WEIR_CORRUPT);
    free(dataset.runs);
    free(back.runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_a_row),
        cmocka_unit_test(runs_of_a_merged_chunk_come_back),
        cmocka_unit_test(a_cut_list_is_corrupt_wherever_it_is_cut),
    };
    return cmocka_run_group_tests_name("storage: runs of changes", tests, NULL, NULL);
}
