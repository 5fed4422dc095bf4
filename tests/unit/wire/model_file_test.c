/* Model files: damaged ones are refused, sizes are checked even under right checksums, the same model has the same
 * bytes. */
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/wire/model_file.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const float PARAMETERS[] = {1, 2, 3, 4, 5, 6};
static const struct weir_model_file MODEL = {
    .model = "linear",
    .options = "bias: true\n",
    .loss = "softmax",
    .optimizer = "sgd",
    .rows = 2,
    .width = 3,
    .parameters = PARAMETERS,
};

static const struct weir_model_file BLOCKS = {
    .model = "fm",
    .options = "",
    .loss = "logistic",
    .optimizer = "sgd",
    .width = 1,
    .blocks = {{"linear", 2, 1}, {"factors", 2, 2}},
    .block_count = 2,
    .parameters = PARAMETERS,
};

static void write_file(struct temp_dir *dir, const struct weir_model_file *file,
                       struct weir_buf *bytes)
{
    struct weir_error err;
    weir_buf_clear(bytes);
    assert_int_equal(weir_model_file_write(temp_path(dir, "model"), file, &err), WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(dir, "model"), 1 << 20, bytes, &err), WEIR_OK);
}

static void write_model(struct temp_dir *dir, struct weir_buf *bytes)
{
    write_file(dir, &MODEL, bytes);
}

static enum weir_status read_bytes(struct temp_dir *dir, struct weir_bytes bytes,
                                   struct weir_error *err)
{
    struct weir_model_file file;
    assert_int_equal(weir_file_write_atomic(temp_path(dir, "spoilt"), bytes, err), WEIR_OK);
    enum weir_status status = weir_model_file_read(temp_path(dir, "spoilt"), &file, err);
    if (status == WEIR_OK)
        weir_model_file_fini(&file);
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
    memcpy(bytes->at + 32, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(bytes->at + 48, weir_hash64(weir_bytes(bytes->at, 48), 0));
}

static void sizes_are_checked_even_under_a_right_checksum(void **unused)
{
    (void)unused;
    static const struct {
        size_t at;
        uint64_t value;
    } CASES[] = {
        {8, UINT64_MAX},  {8, 1 << 20},     {8, 3},  {16, UINT64_MAX}, {16, UINT64_MAX / 4},
        {16, 7},          {24, 1},          {24, 6}, {68, 5},          {68, UINT64_MAX},
        {76, UINT32_MAX}, {88, 1 << 30},    {64, 3}, {64, 1},          {24, 12},
        {24, 18},         {24, UINT64_MAX},
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

static void blocks_keep_their_names_and_shapes(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    struct weir_model_file file;
    WEIR_AUTO_BUF bytes = {0};
    temp_dir_make(&dir);
    write_file(&dir, &BLOCKS, &bytes);
    assert_int_equal(weir_model_file_view(weir_buf_view(&bytes), &file, &err), WEIR_OK);
    assert_int_equal(file.block_count, 2);
    assert_string_equal(file.blocks[1].name, "factors");
    assert_true(file.blocks[1].rows == 2 && file.blocks[1].width == 2);
    assert_memory_equal(file.parameters, PARAMETERS, sizeof(PARAMETERS));
    weir_model_file_fini(&file);
    write_model(&dir, &bytes);
    assert_int_equal(weir_model_file_view(weir_buf_view(&bytes), &file, &err), WEIR_OK);
    assert_string_equal(file.blocks[0].name, "parameters");
    assert_true(file.block_count == 1 && file.blocks[0].rows == 2 && file.blocks[0].width == 3);
    weir_model_file_fini(&file);
    temp_dir_remove(&dir);
}

/* Finds where the first block is described, and changes what follows its name. */
static void blocks_that_do_not_fit_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        int at; /* from the first block's name; -8: the number of blocks */
        uint32_t value;
    } CASES[] = {{-8, 0}, {-8, 1}, {-8, 3}, {-8, UINT32_MAX}, {-4, UINT32_MAX},
                 {6, 3},  {10, 1}, {14, 0}, {14, UINT32_MAX}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct temp_dir dir;
        struct weir_error err;
        WEIR_AUTO_BUF bytes = {0};
        temp_dir_make(&dir);
        write_file(&dir, &BLOCKS, &bytes);
        uint8_t *name = memmem(bytes.at, bytes.size, "linear", 6);
        assert_non_null(name);
        weir_put_u32(name + CASES[i].at, CASES[i].value);
        seal(&bytes);
        if (read_bytes(&dir, weir_buf_view(&bytes), &err) == WEIR_OK)
            fail_msg("case %zu was taken", i);
        temp_dir_remove(&dir);
    }
}

static void a_missing_model_is_not_found(void **unused)
{
    (void)unused;
    struct weir_model_file file;
    struct weir_error err;
    assert_int_equal(weir_model_file_read("/nonexistent/model", &file, &err), WEIR_NOT_FOUND);
}

static void the_layout_says_where_the_parameters_lie(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    struct weir_model_layout layout;
    WEIR_AUTO_BUF bytes = {0};
    temp_dir_make(&dir);
    write_model(&dir, &bytes);
    assert_int_equal(weir_model_file_layout(weir_buf_view(&bytes), &layout, &err), WEIR_OK);
    assert_int_equal(layout.floats, 6);
    assert_int_equal(layout.state_at, 0);
    assert_memory_equal(bytes.at + layout.parameters_at, PARAMETERS, sizeof(PARAMETERS));
    temp_dir_remove(&dir);
}

/* A model that was written before there were blocks of state and steps: it is read as it was. */
static void a_file_of_version_1_is_read(void **unused)
{
    (void)unused;
    static const float STATE[] = {6, 5, 4, 3, 2, 1};
    struct temp_dir dir;
    struct weir_error err;
    struct weir_model_file file;
    WEIR_AUTO_BUF example = {0}; /* with a byte for the fuzz target before it */
    temp_dir_make(&dir);
    assert_int_equal(weir_file_read(WEIR_SOURCE_DIR "/tests/fuzz/corpus/model_file/version-1",
                                    1 << 20, &example, &err),
                     WEIR_OK);
    assert_int_equal(weir_file_write_atomic(temp_path(&dir, "old"),
                                            weir_bytes(example.at + 1, example.size - 1), &err),
                     WEIR_OK);
    if (weir_model_file_read(temp_path(&dir, "old"), &file, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(file.parameters, PARAMETERS, sizeof(PARAMETERS));
    assert_memory_equal(file.optimizer_state, STATE, sizeof(STATE));
    assert_int_equal(file.state_blocks, 1);
    assert_int_equal(file.steps, 0);
    assert_int_equal(file.progress.samples, 40);
    assert_string_equal(file.classes.at[1], "spam");
    weir_model_file_fini(&file);
    temp_dir_remove(&dir);
}

static void several_blocks_of_state_and_their_steps_come_back(void **unused)
{
    (void)unused;
    static const float STATE[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct temp_dir dir;
    struct weir_error err;
    struct weir_model_file file = MODEL, back;
    temp_dir_make(&dir);
    file.optimizer = "adam";
    file.optimizer_state = STATE;
    file.state_blocks = 2;
    file.steps = 77;
    assert_int_equal(weir_model_file_write(temp_path(&dir, "model"), &file, &err), WEIR_OK);
    assert_int_equal(weir_model_file_read(temp_path(&dir, "model"), &back, &err), WEIR_OK);
    assert_int_equal(back.state_blocks, 2);
    assert_int_equal(back.steps, 77);
    assert_memory_equal(back.optimizer_state, STATE, sizeof(STATE));
    weir_model_file_fini(&back);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_model_has_the_same_bytes),
        cmocka_unit_test(a_flipped_bit_or_a_lost_byte_is_noticed),
        cmocka_unit_test(sizes_are_checked_even_under_a_right_checksum),
        cmocka_unit_test(blocks_keep_their_names_and_shapes),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
        cmocka_unit_test(a_missing_model_is_not_found),
        cmocka_unit_test(a_file_of_version_1_is_read),
        cmocka_unit_test(several_blocks_of_state_and_their_steps_come_back),
        cmocka_unit_test(the_layout_says_where_the_parameters_lie),
    };
    return cmocka_run_group_tests_name("model_file", tests, NULL, NULL);
}
