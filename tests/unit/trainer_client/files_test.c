/* The files a trainer writes: damaged models are refused, the same model has the same bytes,
 * outputs are in id order. */
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/wire/outputs.h"
#include "tests/support/batch.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/collector.h"
#include "trainer_client/model_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const float PARAMETERS[] = {1, 2, 3, 4, 5, 6};
static const struct model_file MODEL = {
    .model = "linear",
    .options = "bias: true\n",
    .loss = "softmax",
    .optimizer = "sgd",
    .rows = 2,
    .width = 3,
    .parameters = PARAMETERS,
};

static void write_model(struct temp_dir *dir, struct weir_buf *bytes)
{
    struct weir_error err;
    weir_buf_clear(bytes);
    assert_int_equal(model_file_write(temp_path(dir, "model"), &MODEL, &err), WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(dir, "model"), 1 << 20, bytes, &err), WEIR_OK);
}

static enum weir_status read_bytes(struct temp_dir *dir, struct weir_bytes bytes,
                                   struct weir_error *err)
{
    struct model_file file;
    assert_int_equal(weir_file_write_atomic(temp_path(dir, "spoilt"), bytes, err), WEIR_OK);
    enum weir_status status = model_file_read(temp_path(dir, "spoilt"), &file, err);
    if (status == WEIR_OK)
        model_file_fini(&file);
    return status;
}

static void the_same_model_has_the_same_bytes(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF again = {0};
    temp_dir_make(&dir);
    write_model(&dir, &first);
    write_model(&dir, &again);
    assert_true(weir_bytes_equal(weir_buf_view(&first), weir_buf_view(&again)));
    temp_dir_remove(&dir);
}

static void a_flipped_bit_or_a_lost_byte_is_noticed(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    temp_dir_make(&dir);
    write_model(&dir, &bytes);
    for (size_t i = 0; i < bytes.size; i += 7) {
        if (i >= 56 && i < 64)
            continue; /* padding of the header says nothing */
        bytes.at[i] ^= 16;
        assert_int_equal(read_bytes(&dir, weir_buf_view(&bytes), &err), WEIR_CORRUPT);
        bytes.at[i] ^= 16;
    }
    for (size_t size = 0; size < bytes.size; size += 13)
        assert_int_equal(read_bytes(&dir, weir_bytes(bytes.at, size), &err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "spoilt"));
    assert_int_equal(read_bytes(&dir, weir_buf_view(&bytes), &err), WEIR_OK);
    temp_dir_remove(&dir);
}

/* Puts right checksums on wrong content: what someone could write on purpose. */
static void seal(struct weir_buf *bytes)
{
    struct weir_digest digest = weir_digest_of(weir_bytes(bytes->at + 64, bytes->size - 64));
    memcpy(bytes->at + 32, digest.bytes, sizeof digest.bytes);
    weir_put_u64(bytes->at + 48, weir_hash64(weir_bytes(bytes->at, 48), 0));
}

static void sizes_are_checked_even_under_a_right_checksum(void **unused)
{
    (void)unused;
    static const struct {
        size_t at;
        uint64_t value;
    } CASES[] = {
        {8, UINT64_MAX},  {8, 1 << 20},  {8, 3},  {16, UINT64_MAX}, {16, UINT64_MAX / 4},
        {16, 7},          {24, 1},       {24, 6}, {68, 5},          {68, UINT64_MAX},
        {76, UINT32_MAX}, {88, 1 << 30}, {64, 2},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct temp_dir dir;
        struct weir_error err;
        WEIR_AUTO_BUF bytes = {0};
        temp_dir_make(&dir);
        write_model(&dir, &bytes);
        weir_put_u64(bytes.at + CASES[i].at, CASES[i].value);
        seal(&bytes);
        if (read_bytes(&dir, weir_buf_view(&bytes), &err) == WEIR_OK)
            fail_msg("case %zu was taken", i);
        temp_dir_remove(&dir);
    }
}

static void a_missing_model_is_not_found(void **unused)
{
    (void)unused;
    struct model_file file;
    struct weir_error err;
    assert_int_equal(model_file_read("/nonexistent/model", &file, &err), WEIR_NOT_FOUND);
}

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
        cmocka_unit_test(the_same_model_has_the_same_bytes),
        cmocka_unit_test(a_flipped_bit_or_a_lost_byte_is_noticed),
        cmocka_unit_test(sizes_are_checked_even_under_a_right_checksum),
        cmocka_unit_test(a_missing_model_is_not_found),
        cmocka_unit_test(outputs_are_sorted_by_id),
        cmocka_unit_test(no_outputs_are_a_file_as_well),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
