/* The outputs a trainer writes are in id order. */
#include "core/wire/outputs.h"
#include "tests/support/batch.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/collector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void outputs_are_sorted_by_id(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    struct weir_outputs outputs;
    struct collector collector = {.width = 2};
    temp_dir_make(&dir);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct test_batch batch;
        float values[TEST_BATCH_SAMPLES * 2];
        test_batch_make(&batch, seed, 2);
        for (size_t s = 0; s < TEST_BATCH_SAMPLES; s++) {
            values[2 * s] = (float)(batch.ids[s] % 1000);
            values[2 * s + 1] = (float)batch.labels[s];
        }
        collector_add(&collector, &batch.batch, values);
    }
    assert_int_equal(collector_write(&collector, temp_path(&dir, "outputs"), &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "outputs"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 5 * TEST_BATCH_SAMPLES);
    for (size_t i = 0; i < outputs.count; i++) {
        assert_true(i == 0 || outputs.ids[i - 1] < outputs.ids[i]);
        assert_true(outputs.values[2 * i] == (float)(outputs.ids[i] % 1000));
        assert_true(outputs.values[2 * i + 1] == (float)outputs.labels[i]);
    }
    weir_outputs_close(&outputs);
    collector_fini(&collector);
    temp_dir_remove(&dir);
}

static void no_outputs_are_a_file_as_well(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    struct weir_outputs outputs;
    struct collector collector = {.width = 3};
    temp_dir_make(&dir);
    assert_int_equal(collector_write(&collector, temp_path(&dir, "outputs"), &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "outputs"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 0);
    assert_int_equal(outputs.width, 3);
    weir_outputs_close(&outputs);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_sorted_by_id),
        cmocka_unit_test(no_outputs_are_a_file_as_well),
    };
    return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
