/* Reading located bytes: right ones, or an honest refusal. */
#include "preprocess/worker/files.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct file_about about_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (struct file_about){
        .path = path,
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = (uint64_t)status.st_size,
        .mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
    };
}

static enum weir_status read_some(struct files *files, const struct file_about *about,
                                  uint64_t offset, uint64_t length, struct weir_buf *out)
{
    struct weir_error err;
    struct file_range range = {.file = about, .offset = offset, .length = length};
    return files_read(files, &range, out, &err);
}

static void bytes_come_from_their_place(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = files_new();
    write_text(temp_path(&dir, "a"), "hello world");
    struct file_about about = about_of(temp_path(&dir, "a"));
    assert_int_equal(read_some(files, &about, 6, 5, &out), WEIR_OK);
    assert_int_equal(read_some(files, &about, 0, 0, &out), WEIR_OK);
    assert_int_equal(read_some(files, &about, 0, 1, &out), WEIR_OK);
    assert_string_equal(weir_buf_text(&out), "worldh");
    assert_int_equal(read_some(files, &about, 8, 5, &out), WEIR_STALE);
    assert_int_equal(out.size, 6);
    files_free(files);
    temp_dir_remove(&dir);
}

static void another_file_is_stale_also_when_it_was_open(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = files_new();
    char path[512];
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    write_text(path, "one");
    struct file_about about = about_of(path);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_OK);
    FILE *file = fopen(path, "a"); /* grown in place */
    fputs("two", file);
    fclose(file);
    files_begin(files);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    files_free(files);
    temp_dir_remove(&dir);
}

static void many_files_pass_through_few_descriptors(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = files_new();
    for (int i = 0; i < 2 * FILES_OPEN_MAX; i++) {
        char name[16], path[512];
        snprintf(name, sizeof(name), "%d", i);
        snprintf(path, sizeof(path), "%s", temp_path(&dir, name));
        write_text(path, "x");
        struct file_about about = about_of(path);
        assert_int_equal(read_some(files, &about, 0, 1, &out), WEIR_OK);
    }
    assert_int_equal(out.size, 2 * FILES_OPEN_MAX);
    files_forget(files);
    files_free(files);
    temp_dir_remove(&dir);
}

static void a_write_after_the_read_is_noticed(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = files_new();
    char path[512];
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    write_text(path, "one");
    struct file_about about = about_of(path);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_OK);
    assert_true(files_check(files, &about));
    files_forget(files); /* another file had taken its descriptor's place */
    assert_true(files_check(files, &about));
    FILE *file = fopen(path, "a");
    fputs("two", file);
    fclose(file);
    assert_false(files_check(files, &about));
    files_free(files);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_from_their_place),
        cmocka_unit_test(another_file_is_stale_also_when_it_was_open),
        cmocka_unit_test(a_write_after_the_read_is_noticed),
        cmocka_unit_test(many_files_pass_through_few_descriptors),
    };
    return cmocka_run_group_tests_name("worker files", tests, NULL, NULL);
}
