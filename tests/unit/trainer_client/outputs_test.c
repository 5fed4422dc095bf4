/* The outputs a trainer writes are in id order. */
#include "core/wire/outputs.h"
#include "tests/support/batch.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/collector.h"
#include "trainer_client/groups.h"

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
        trainer_collector_add(&collector, &batch.batch, values);
    }
    assert_int_equal(trainer_collector_write(&collector, temp_path(&dir, "outputs"), &err),
                     WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "outputs"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 5 * TEST_BATCH_SAMPLES);
    for (size_t i = 0; i < outputs.count; i++) {
        assert_true(i == 0 || outputs.ids[i - 1] < outputs.ids[i]);
        assert_true(outputs.values[2 * i] == (float)(outputs.ids[i] % 1000));
        assert_true(outputs.values[2 * i + 1] == (float)outputs.labels[i]);
    }
    weir_outputs_close(&outputs);
    trainer_collector_fini(&collector);
    temp_dir_remove(&dir);
}

/* The model sees what is left of the batch; a text, a list or a number names the group. */
static void a_tensor_that_says_groups_goes_to_the_outputs_instead_of_the_model(void **unused)
{
    (void)unused;
    struct weir_error err;
    struct groups groups = {.at = NULL};
    static const uint64_t IDS[] = {5, 4, 3};
    static const int64_t LABELS[] = {0, 1, 0};
    static const int32_t WORDS[] = {9, 9, 1, 9, 9};
    static const uint32_t OFFSETS[] = {0, 2, 3, 5};
    static const double USERS[] = {17, 2.5, 17};
    const struct weir_tensor tensors[] = {
        {.name = "words", .type = WEIR_TENSOR_I32, .rank = 1, .offsets = OFFSETS, .data = WORDS},
        {.name = "user", .type = WEIR_TENSOR_F64, .rank = 1, .shape = {3}, .data = USERS},
    };
    const struct weir_batch batch = {
        .samples = 3, .ids = IDS, .labels = LABELS, .tensors = tensors, .tensor_count = 2};
    assert_int_equal(
        trainer_groups_take(&groups, &(struct groups_wanted){.group = "user"}, &batch, &err),
        WEIR_OK);
    assert_int_equal(groups.rest.tensor_count, 1);
    assert_string_equal(groups.rest.tensors[0].name, "words");
    assert_true(groups.at[0] == 17 && groups.at[2] == 17 && groups.at[1] != 17);
    assert_int_equal(
        trainer_groups_take(&groups, &(struct groups_wanted){.group = "words"}, &batch, &err),
        WEIR_OK);
    assert_true(groups.at[0] == groups.at[2] && groups.at[1] == 1 && groups.at[0] != 1);
    assert_int_equal(
        trainer_groups_take(&groups, &(struct groups_wanted){.group = "nobody"}, &batch, &err),
        WEIR_INVALID);
    trainer_groups_fini(&groups);
    const struct groups_wanted two = {.group = "", .slices = {"user", "words"}, .slice_count = 2};
    assert_int_equal(trainer_groups_take(&groups, &two, &batch, &err), WEIR_OK);
    assert_int_equal(groups.rest.tensor_count, 0);
    assert_null(groups.at);
    assert_true(groups.slices[0] == 17 && groups.slices[4] == 17 && groups.slices[3] == 1);
    struct temp_dir dir;
    struct weir_outputs outputs;
    struct collector collector = {.width = 1, .slice_columns = 2, .batch_slices = groups.slices};
    static const float VALUES[] = {1, 2, 3};
    temp_dir_make(&dir);
    trainer_collector_add(&collector, &batch, VALUES);
    assert_int_equal(trainer_collector_write(&collector, temp_path(&dir, "o"), &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(dir.file, &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.slice_columns, 2); /* in order of ids: backwards */
    assert_true(outputs.slices[0] == 17 && outputs.slices[3] == 1 && outputs.slices[4] == 17);
    assert_true(outputs.values[0] == 3 && outputs.groups == NULL);
    weir_outputs_close(&outputs);
    trainer_collector_fini(&collector);
    temp_dir_remove(&dir);
    trainer_groups_fini(&groups);
}

/* "é" takes two bytes, and the cut goes through one. */
static void names_of_numbers_are_cut_between_two_characters(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    struct weir_outputs outputs;
    struct collector collector = {.width = 2};
    char name[WEIR_OUTPUT_NAME_MAX + 2] = {0};
    memset(name, 'x', WEIR_OUTPUT_NAME_MAX - 1);
    strcat(name, "\u00e9");
    temp_dir_make(&dir);
    trainer_collector_name(&collector, (const char *const[]){"of one before", "of another"});
    trainer_collector_name(&collector, (const char *const[]){"temp", name});
    assert_int_equal(trainer_collector_write(&collector, temp_path(&dir, "o"), &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_OK);
    assert_string_equal((const char *)outputs.names.at, "temp");
    const char *second = (const char *)outputs.names.at + strlen("temp") + 1;
    name[WEIR_OUTPUT_NAME_MAX - 1] = '\0';
    assert_string_equal(second, name);
    weir_outputs_close(&outputs);
    trainer_collector_fini(&collector);
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
    assert_int_equal(trainer_collector_write(&collector, temp_path(&dir, "outputs"), &err),
                     WEIR_OK);
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
        cmocka_unit_test(a_tensor_that_says_groups_goes_to_the_outputs_instead_of_the_model),
        cmocka_unit_test(names_of_numbers_are_cut_between_two_characters),
        cmocka_unit_test(no_outputs_are_a_file_as_well),
    };
    return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
