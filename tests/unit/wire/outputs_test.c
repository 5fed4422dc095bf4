/* Output files of a run: what a trainer wrote is what the orchestrator maps, or nothing. */
#include "core/wire/outputs.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t IDS[] = {1, 2, 9};
static const int64_t LABELS[] = {0, -1, INT64_MAX};
static const float VALUES[] = {0.25f, 0.75f, -1, 2, 3, 4};
static const struct weir_outputs OUTPUTS = {
    .ids = IDS, .labels = LABELS, .values = VALUES, .count = 3, .width = 2, .epoch = 4};

static struct temp_dir dir;

static int make_dir(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

static void a_link_to_outputs_is_not_opened(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(&dir, "o"));
    assert_int_equal(weir_outputs_write(path, &OUTPUTS, &err), WEIR_OK);
    assert_int_equal(symlink(path, temp_path(&dir, "link")), 0);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "link"), &outputs, &err), WEIR_IO);
}

static void what_was_written_is_mapped(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &OUTPUTS, &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 3);
    assert_int_equal(outputs.width, 2);
    assert_int_equal(outputs.epoch, 4);
    assert_memory_equal(outputs.ids, IDS, sizeof(IDS));
    assert_memory_equal(outputs.labels, LABELS, sizeof(LABELS));
    assert_memory_equal(outputs.values, VALUES, sizeof(VALUES));
    weir_outputs_close(&outputs);
    assert_null(outputs.ids);
    weir_outputs_close(&outputs);
}

static void groups_and_labels_that_are_vectors_come_along(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    static const int64_t GROUPS[] = {7, INT64_MIN, 7};
    static const float LABEL_VALUES[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct weir_outputs full = OUTPUTS;
    full.groups = GROUPS;
    full.label_values = LABEL_VALUES;
    full.label_width = 3;
    full.label_kind = WEIR_LABEL_VALUES;
    assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &full, &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.label_kind, WEIR_LABEL_VALUES);
    assert_int_equal(outputs.label_width, 3);
    assert_memory_equal(outputs.groups, GROUPS, sizeof(GROUPS));
    assert_memory_equal(outputs.values, VALUES, sizeof(VALUES));
    assert_memory_equal(outputs.label_values, LABEL_VALUES, sizeof(LABEL_VALUES));
    weir_outputs_close(&outputs);
    full.label_kind = WEIR_LABEL_INT; /* it has no numbers beside it */
    assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &full, &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_CORRUPT);
}

static void names_of_values_come_along_if_there_is_one_for_each(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    static const struct {
        struct weir_bytes names;
        enum weir_status status;
    } ROWS[] = {
        {{(const uint8_t *)"a\0b c", 6}, WEIR_OK},
        {{NULL, 0}, WEIR_OK},
        {{(const uint8_t *)"\0", 2}, WEIR_OK},
        {{(const uint8_t *)"a\0b", 3}, WEIR_CORRUPT},
        {{(const uint8_t *)"a\0b\0c", 6}, WEIR_CORRUPT},
        {{(const uint8_t *)"a", 2}, WEIR_CORRUPT},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        struct weir_outputs named = OUTPUTS;
        named.names = ROWS[i].names;
        assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &named, &err), WEIR_OK);
        assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), ROWS[i].status);
        if (ROWS[i].status != WEIR_OK)
            continue;
        assert_true(weir_bytes_equal(outputs.names, ROWS[i].names));
        assert_memory_equal(outputs.values, VALUES, sizeof(VALUES));
        weir_outputs_close(&outputs);
    }
}

static void no_samples_and_no_values_are_fine(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    const struct weir_outputs none = {.width = 5};
    assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &none, &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 0);
    assert_int_equal(outputs.width, 5);
    weir_outputs_close(&outputs);
    const struct weir_outputs narrow = {.ids = IDS, .labels = LABELS, .count = 3};
    assert_int_equal(weir_outputs_write(temp_path(&dir, "o"), &narrow, &err), WEIR_OK);
    assert_int_equal(weir_outputs_open(temp_path(&dir, "o"), &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 3);
    weir_outputs_close(&outputs);
}

static void every_changed_byte_and_every_other_length_is_noticed(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    WEIR_AUTO_BUF file = {0};
    const char *path = temp_path(&dir, "o");
    assert_int_equal(weir_outputs_write(path, &OUTPUTS, &err), WEIR_OK);
    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x10;
        assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
        assert_int_equal(weir_outputs_open(path, &outputs, &err), WEIR_CORRUPT);
        file.at[i] ^= 0x10;
        assert_int_equal(weir_file_write_atomic(path, weir_bytes(file.at, i), &err), WEIR_OK);
        assert_int_equal(weir_outputs_open(path, &outputs, &err), WEIR_CORRUPT);
    }
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_outputs outputs;
    assert_int_equal(weir_outputs_open(temp_path(&dir, "none"), &outputs, &err), WEIR_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_mapped),
        TEST(a_link_to_outputs_is_not_opened),
        TEST(groups_and_labels_that_are_vectors_come_along),
        TEST(names_of_values_come_along_if_there_is_one_for_each),
        TEST(no_samples_and_no_values_are_fine),
        TEST(every_changed_byte_and_every_other_length_is_noticed),
        TEST(a_missing_file_is_not_found),
    };
    return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
