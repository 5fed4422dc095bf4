/* Sample set files: sealed once, the same everywhere, and refused after any damage. */
#include "core/wire/sample_set.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t IDS[] = {3, 5, 8, 0x0000100000020003, UINT64_MAX};
static const float WEIGHTS[] = {1, 0.5f, 2, 1, 0};
enum { COUNT = WEIR_COUNT(IDS) };

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

static void write_set(const char *path, const float *weights, struct weir_digest *ret_digest)
{
    struct weir_error err;
    assert_int_equal(weir_sample_set_write(path, IDS, weights, COUNT, ret_digest, &err), WEIR_OK);
}

static void what_was_sealed_is_mapped(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_digest digest;
    struct weir_sample_set set;
    write_set(temp_path(&dir, "a.set"), WEIGHTS, &digest);
    assert_int_equal(weir_sample_set_open(temp_path(&dir, "a.set"), &set, &err), WEIR_OK);
    assert_int_equal(set.count, COUNT);
    assert_memory_equal(set.ids, IDS, sizeof(IDS));
    assert_memory_equal(set.weights, WEIGHTS, sizeof(WEIGHTS));
    assert_memory_equal(set.digest.bytes, digest.bytes, sizeof(digest.bytes));
    weir_sample_set_close(&set);
    assert_null(set.ids);
    weir_sample_set_close(&set);
}

static void weights_that_are_all_one_are_left_out_and_leave_the_digest_alone(void **state)
{
    (void)state;
    static const float ONES[] = {1, 1, 1, 1, 1};
    struct weir_error err;
    struct weir_digest without, with;
    struct weir_sample_set set;
    write_set(temp_path(&dir, "a.set"), NULL, &without);
    write_set(temp_path(&dir, "b.set"), ONES, &with);
    assert_memory_equal(with.bytes, without.bytes, sizeof(with.bytes));
    assert_int_equal(weir_sample_set_open(temp_path(&dir, "b.set"), &set, &err), WEIR_OK);
    assert_null(set.weights);
    weir_sample_set_close(&set);
    write_set(temp_path(&dir, "c.set"), WEIGHTS, &with);
    assert_memory_not_equal(with.bytes, without.bytes, sizeof(with.bytes));
}

static void the_digest_of_a_selection_never_changes(void **state)
{
    (void)state;
    struct weir_digest digest;
    char text[WEIR_DIGEST_TEXT_MAX];
    write_set(temp_path(&dir, "a.set"), NULL, &digest);
    weir_digest_text(&digest, text);
    assert_string_equal(text, "8592e6a650c6e1ca8e994a326b670eb6");
    write_set(temp_path(&dir, "a.set"), WEIGHTS, NULL);
    write_set(temp_path(&dir, "a.set"), WEIGHTS, &digest);
    weir_digest_text(&digest, text);
    assert_string_equal(text, "b1ce6194e38eea6112a8d23a21b84b55");
}

static void an_empty_set_is_a_set(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_sample_set set;
    assert_int_equal(weir_sample_set_write(temp_path(&dir, "a.set"), NULL, NULL, 0, NULL, &err),
                     WEIR_OK);
    assert_int_equal(weir_sample_set_open(temp_path(&dir, "a.set"), &set, &err), WEIR_OK);
    assert_int_equal(set.count, 0);
    assert_int_equal(weir_sample_set_find(&set, 3), -1);
    weir_sample_set_close(&set);
}

static void ids_are_found_by_value(void **state)
{
    (void)state;
    const struct weir_sample_set set = {.ids = IDS, .count = COUNT};
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(weir_sample_set_find(&set, IDS[i]), i);
        assert_int_equal(weir_sample_set_find(&set, IDS[i] - 1), -1);
    }
    assert_int_equal(weir_sample_set_find(&set, 0), -1);
    assert_int_equal(weir_sample_set_find(&set, 6), -1);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_sample_set set;
    WEIR_AUTO_BUF file = {0};
    const char *path = temp_path(&dir, "a.set");
    write_set(path, WEIGHTS, NULL);
    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    assert_int_equal(file.size, WEIR_SET_HEADER_BYTES + sizeof(IDS) + 24 + 2 * sizeof(uint64_t));
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x10;
        assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
        assert_non_null(strstr(err.text, "a.set: "));
        file.at[i] ^= 0x10;
    }
}

static void a_file_of_another_length_is_refused(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_sample_set set;
    WEIR_AUTO_BUF file = {0};
    const char *path = temp_path(&dir, "a.set");
    write_set(path, WEIGHTS, NULL);
    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    for (size_t size = 0; size < file.size; size++) {
        assert_int_equal(weir_file_write_atomic(path, weir_bytes(file.at, size), &err), WEIR_OK);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
    }
    weir_buf_append(&file, "\0\0\0\0\0\0\0\0\0\0\0\0", 12); /* one sample more */
    assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
    assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
}

/* Several blocks of sums, written in pieces that end anywhere. */
static void pieces_make_the_same_file_and_are_checked_alone(void **state)
{
    (void)state;
    enum { MANY = 3 * WEIR_SET_SUMMED + 5 };
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(MANY, sizeof(*ids));
    WEIR_AUTO_FREE float *weights = weir_calloc(MANY, sizeof(*weights));
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    WEIR_AUTO_BUF file = {0};
    struct weir_digest digest, again;
    struct weir_sample_set set;
    struct weir_error err;
    const char *path = temp_path(&dir, "a.set");
    for (size_t i = 0; i < MANY; i++) {
        ids[i] = i * 3;
        weights[i] = (float)(i % 7 + 1);
    }
    assert_int_equal(weir_sample_set_begin(path, MANY, weights, &writer, &err), WEIR_OK);
    for (size_t at = 0, n = 1; at < MANY; at += n, n = n * 5 % 70001) {
        n = n < MANY - at ? n : MANY - at;
        assert_int_equal(weir_sample_set_add(writer, ids + at, n, &err), WEIR_OK);
    }
    assert_int_equal(weir_sample_set_finish(writer, &digest, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_publish(writer, path, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_OK);
    assert_memory_equal(set.ids, ids, MANY * sizeof(*ids));
    assert_memory_equal(set.weights, weights, MANY * sizeof(*weights));
    weir_sample_set_close(&set);
    assert_int_equal(
        weir_sample_set_write(temp_path(&dir, "b.set"), ids, weights, MANY, &again, &err), WEIR_OK);
    assert_memory_equal(digest.bytes, again.bytes, sizeof(digest.bytes));

    assert_int_equal(weir_file_read(path, 16 << 20, &file, &err), WEIR_OK);
    file.at[WEIR_SET_HEADER_BYTES + WEIR_SET_SUMMED * sizeof(*ids) + 7] ^= 1; /* the second block */
    assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
    assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
    assert_int_equal(weir_sample_set_open_unread(path, &set, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_check(&set, 0, WEIR_SET_SUMMED, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_check(&set, 2 * WEIR_SET_SUMMED, 9, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_check(&set, WEIR_SET_SUMMED - 1, 2, &err), WEIR_CORRUPT);
    weir_sample_set_close(&set);
}

/* ---- epoch parts ---- */

/* Writes the five ids with these parts, whatever they are. */
static enum weir_status write_parts(const char *path, const struct weir_epoch_parts *parts,
                                    struct weir_digest *ret_digest)
{
    struct weir_error err;
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    enum weir_status status = weir_sample_set_begin(path, COUNT, WEIGHTS, &writer, &err);
    assert_int_equal(status, WEIR_OK);
    weir_sample_set_divide(writer, parts);
    assert_int_equal(weir_sample_set_add(writer, IDS, COUNT, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_finish(writer, ret_digest, &err), WEIR_OK);
    return weir_sample_set_publish(writer, path, &err);
}

static void epoch_parts_are_mapped_and_under_the_digest(void **state)
{
    (void)state;
    static const uint32_t INDICES[] = {0, 3, 1, 2, 3, 4}, OTHERS[] = {0, 4, 1, 2, 3, 4};
    const struct weir_epoch_parts parts = {INDICES, 2, 3};
    struct weir_digest digest, other, undivided;
    struct weir_sample_set set;
    struct weir_error err;
    WEIR_AUTO_BUF file = {0};
    const char *path = temp_path(&dir, "a.set");
    write_set(path, WEIGHTS, &undivided);
    assert_int_equal(write_parts(path, &(struct weir_epoch_parts){OTHERS, 2, 3}, &other), WEIR_OK);
    assert_int_equal(write_parts(path, &parts, &digest), WEIR_OK);
    assert_memory_not_equal(digest.bytes, undivided.bytes, sizeof(digest.bytes));
    assert_memory_not_equal(digest.bytes, other.bytes, sizeof(digest.bytes));
    assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_OK);
    assert_memory_equal(set.ids, IDS, sizeof(IDS));
    assert_memory_equal(set.weights, WEIGHTS, sizeof(WEIGHTS));
    assert_int_equal(set.parts.count, 3);
    assert_int_equal(set.parts.samples, 2);
    assert_memory_equal(set.parts.indices, INDICES, sizeof(INDICES));
    weir_sample_set_close(&set);

    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x10;
        assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
        file.at[i] ^= 0x10;
        assert_int_equal(weir_file_write_atomic(path, weir_bytes(file.at, i), &err), WEIR_OK);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
        assert_int_equal(weir_sample_set_open_unread(path, &set, &err), WEIR_CORRUPT);
    }
}

static void epoch_parts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t indices[6];
        const char *complaint;
    } CASES[] = {
        {{0, 3, 1, 2, 3, 5}, "found index 5, expected ascending ones below 5"},
        {{0, 3, 2, 1, 3, 4}, "found index 1, expected ascending"},
        {{0, 3, 1, 1, 2, 4}, "found index 1, expected ascending"},
        {{0, 3, 0, 3, 1, 4}, "epoch parts hold 4 of 5 samples"},
    };
    const char *path = temp_path(&dir, "a.set");
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct weir_digest digest;
        struct weir_sample_set set;
        const struct weir_epoch_parts parts = {CASES[i].indices, 2, 3};
        assert_int_equal(write_parts(path, &parts, &digest), WEIR_OK);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
        assert_non_null(strstr(err.text, CASES[i].complaint));
    }
}

static void what_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_sample_set_writer *writer = NULL;
    const char *path = temp_path(&dir, "given-up.set");
    assert_int_equal(weir_sample_set_begin(path, COUNT, NULL, &writer, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_add(writer, IDS, COUNT, &err), WEIR_OK);
    weir_sample_set_writer_free(writer);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(temp_path(&dir, "given-up.set.tmp"), F_OK), -1);
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_sample_set set;
    assert_int_equal(weir_sample_set_open(temp_path(&dir, "none.set"), &set, &err), WEIR_NOT_FOUND);
}

/* Writes a set of the ids 7 and `second` under `flags`, with checksums that are right. */
static void forge(const char *path, uint64_t second, uint32_t flags)
{
    struct weir_error err;
    static const uint64_t FAIR[] = {7, 8};
    WEIR_AUTO_BUF file = {0};
    assert_int_equal(weir_sample_set_write(path, FAIR, NULL, 2, NULL, &err), WEIR_OK);
    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    file.size = 80; /* no sums */
    weir_put_u32(file.at + 16, flags);
    weir_put_u64(file.at + 72, second);
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, file.at + 8, 12);
    weir_hasher_add(hasher, file.at + 64, 16);
    struct weir_digest digest = weir_hasher_digest(hasher);
    memcpy(file.at + 24, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(file.at + 40, weir_hash64(weir_bytes(file.at, 40), 0));
    assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&file), &err), WEIR_OK);
}

static void a_forged_set_is_refused_even_with_a_right_digest(void **state)
{
    (void)state;
    static const struct {
        uint64_t second;
        uint32_t flags;
        const char *complaint;
    } CASES[] = {
        {7, 0, "ids do not ascend"},
        {6, 0, "ids do not ascend"},
        {8, 8, "flags 0x8, expected at most 0x7"},
        {8, 4, "found 0 epoch parts of 0 samples"},
        {8, 1, "expected 2 samples"},
        {8, 2, "expected 2 samples"},
    };
    const char *path = temp_path(&dir, "a.set");
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct weir_sample_set set;
        forge(path, CASES[i].second, CASES[i].flags);
        assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_CORRUPT);
        assert_non_null(strstr(err.text, CASES[i].complaint));
    }
    struct weir_error err;
    struct weir_sample_set set;
    forge(path, 8, 0); /* what is forged to be the same is the same */
    assert_int_equal(weir_sample_set_open(path, &set, &err), WEIR_OK);
    weir_sample_set_close(&set);
}

static int write_unsorted(const void *path)
{
    static const uint64_t UNSORTED[] = {2, 1};
    return (int)weir_sample_set_write(path, UNSORTED, NULL, 2, NULL, NULL);
}

static void sealing_unsorted_ids_is_the_programmers_mistake(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, write_unsorted, temp_path(&dir, "a.set"));
    assert_true(child_died_of(&child, SIGABRT));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(what_was_sealed_is_mapped),
        TEST(weights_that_are_all_one_are_left_out_and_leave_the_digest_alone),
        TEST(the_digest_of_a_selection_never_changes),
        TEST(an_empty_set_is_a_set),
        TEST(ids_are_found_by_value),
        TEST(every_changed_byte_is_noticed),
        TEST(a_file_of_another_length_is_refused),
        TEST(pieces_make_the_same_file_and_are_checked_alone),
        TEST(epoch_parts_are_mapped_and_under_the_digest),
        TEST(epoch_parts_that_cannot_be_are_refused),
        TEST(what_is_given_up_leaves_nothing),
        TEST(a_missing_file_is_not_found),
        TEST(a_forged_set_is_refused_even_with_a_right_digest),
        TEST(sealing_unsorted_ids_is_the_programmers_mistake),
    };
    return cmocka_run_group_tests_name("sample_set", tests, NULL, NULL);
}
