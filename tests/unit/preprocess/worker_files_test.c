/* Reading located bytes: right ones, or an honest refusal. */
#include "core/base/file.h"
#include "core/base/host.h"
#include "preprocess/worker/files.h"
#include "preprocess/worker/mapping.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
        .mtime_ns = weir_mtime_ns(&status),
    };
}

static enum weir_status read_some(struct files *files, const struct file_about *about,
                                  uint64_t offset, uint64_t length, struct weir_buf *out)
{
    struct weir_error err;
    struct file_range range = {.file = about, .offset = offset, .length = length};
    return preprocess_files_read(files, &range, out, &err);
}

static void bytes_come_from_their_place(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = preprocess_files_new();
    write_text(temp_path(&dir, "a"), "hello world");
    struct file_about about = about_of(temp_path(&dir, "a"));
    assert_int_equal(read_some(files, &about, 6, 5, &out), WEIR_OK);
    assert_int_equal(read_some(files, &about, 0, 0, &out), WEIR_OK);
    assert_int_equal(read_some(files, &about, 0, 1, &out), WEIR_OK);
    assert_string_equal(weir_buf_text(&out), "worldh");
    assert_int_equal(read_some(files, &about, 8, 5, &out), WEIR_STALE);
    assert_int_equal(out.size, 6);
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

static void another_file_is_stale_also_when_it_was_open(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = preprocess_files_new();
    char path[512];
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    write_text(path, "one");
    struct file_about about = about_of(path);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_OK);
    FILE *file = fopen(path, "a"); /* grown in place */
    fputs("two", file);
    fclose(file);
    preprocess_files_begin(files);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_STALE);
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

static void many_files_pass_through_few_descriptors(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = preprocess_files_new();
    for (int i = 0; i < 2 * FILES_OPEN_MAX; i++) {
        char name[16], path[512];
        snprintf(name, sizeof(name), "%d", i);
        snprintf(path, sizeof(path), "%s", temp_path(&dir, name));
        write_text(path, "x");
        struct file_about about = about_of(path);
        assert_int_equal(read_some(files, &about, 0, 1, &out), WEIR_OK);
    }
    assert_int_equal(out.size, 2 * FILES_OPEN_MAX);
    preprocess_files_forget(files);
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

/* As storage on another host describes it: whatever its device and inode are called there. */
static void a_file_of_another_host_is_known_by_path_size_and_time_and_never_mapped(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    char path[512];
    temp_dir_make(&dir);
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    struct files *files = preprocess_files_new();
    write_text(path, "hello world");
    struct file_about about = about_of(path), here = about, later = about;
    about.host = weir_host_id() + 1;
    about.device++;
    about.inode++;
    assert_true(preprocess_files_is_elsewhere(files, &about));
    assert_false(preprocess_files_is_elsewhere(files, &here));
    for (int i = 0; i <= 2 * FILES_MAP_READS_MIN; i++)
        assert_int_equal(read_some(files, &about, 6, 5, &out), WEIR_OK);
    assert_null(preprocess_files_mapping(files, &about));
    for (int i = 0; i <= 2 * FILES_MAP_READS_MIN; i++)
        assert_int_equal(read_some(files, &here, 6, 5, &out), WEIR_OK);
    assert_non_null(preprocess_files_mapping(files, &here));
    later.host = about.host;
    later.mtime_ns++;
    assert_false(preprocess_files_check(files, &later));
    assert_int_equal(read_some(files, &later, 6, 5, &out), WEIR_STALE);
    later = about;
    later.path = temp_path(&dir, "b");
    assert_int_equal(read_some(files, &later, 6, 5, &out), WEIR_STALE);
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

static void a_write_after_the_read_is_noticed(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    temp_dir_make(&dir);
    struct files *files = preprocess_files_new();
    char path[512];
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    write_text(path, "one");
    struct file_about about = about_of(path);
    assert_int_equal(read_some(files, &about, 0, 3, &out), WEIR_OK);
    assert_true(preprocess_files_check(files, &about));
    preprocess_files_forget(files); /* another file had taken its descriptor's place */
    assert_true(preprocess_files_check(files, &about));
    FILE *file = fopen(path, "a");
    fputs("two", file);
    fclose(file);
    assert_false(preprocess_files_check(files, &about));
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

/* A file of PAGES pages, each full of one letter: a, b, c, … */
enum { PAGE_BYTES = 4096, PAGES = 20, HANDLED = 42 };

static void write_pages(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < PAGES * PAGE_BYTES; i++)
        fputc('a' + i / PAGE_BYTES, file);
    fclose(file);
}

static void handle(int number)
{
    (void)number;
    _exit(HANDLED);
}

/* False also for what is not mapped. */
static bool copy(const struct mapping *mapping, uint64_t offset, size_t length, uint8_t *to)
{
    struct mapping_range range = {mapping_at(mapping, offset, length), length};
    return range.from != NULL && preprocess_mapping_copy(&range, 1, to);
}

static void a_bus_error_of_others_is_handled_as_before(void **state)
{
    (void)state;
    struct temp_dir dir;
    temp_dir_make(&dir);
    write_pages(temp_path(&dir, "a"));
    pid_t child = fork();
    if (child == 0) {
        struct mapping mapping = {0};
        uint8_t byte;
        signal(SIGBUS, handle);
        int fd = open(temp_path(&dir, "a"), O_RDWR);
        if (preprocess_mapping_open(&mapping, fd, (size_t)PAGES * PAGE_BYTES) &&
            ftruncate(fd, 0) == 0 && !copy(&mapping, 0, 1, &byte)) {
            volatile const uint8_t *at = mapping.at;
            (void)*at;
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HANDLED);
    temp_dir_remove(&dir);
}

static void a_mapped_file_that_is_cut_short_costs_what_lay_behind_its_end(void **state)
{
    (void)state;
    struct temp_dir dir;
    struct mapping mapping = {0};
    struct mapping_range ranges[PAGES];
    uint8_t bytes[2 * PAGE_BYTES];
    temp_dir_make(&dir);
    write_pages(temp_path(&dir, "a"));
    WEIR_AUTO_FD int fd = open(temp_path(&dir, "a"), O_RDWR);
    assert_false(copy(&mapping, 0, 0, bytes));
    assert_true(preprocess_mapping_open(&mapping, fd, (size_t)PAGES * PAGE_BYTES));
    assert_true(copy(&mapping, PAGE_BYTES - 1, 2, bytes));
    assert_memory_equal(bytes, "ab", 2);
    for (size_t i = 0; i < PAGES; i++)
        ranges[i] = (struct mapping_range){mapping_at(&mapping, i * PAGE_BYTES, i + 1), i + 1};
    assert_true(preprocess_mapping_copy(ranges, PAGES, bytes));
    assert_memory_equal(bytes, "abbcccdddd", 10);
    assert_int_equal(bytes[PAGES * (PAGES + 1) / 2 - 1], 'a' + PAGES - 1);
    assert_false(copy(&mapping, (size_t)PAGES * PAGE_BYTES - 1, 2, bytes));
    assert_false(copy(&mapping, UINT64_MAX, 2, bytes));
    assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
    for (int i = 0; i < 3; i++) {
        assert_false(copy(&mapping, PAGE_BYTES - 1, 2, bytes));
        assert_false(preprocess_mapping_copy(ranges, PAGES, bytes));
        assert_true(copy(&mapping, PAGE_BYTES - 1, 1, bytes));
        assert_int_equal(bytes[0], 'a');
    }
    preprocess_mapping_close(&mapping);
    preprocess_mapping_close(&mapping);
    temp_dir_remove(&dir);
}

struct look {
    const struct mapping *mapping;
    uint64_t offset;
    int seen;
};

static void look(void *owner)
{
    struct look *look = owner;
    look->seen = *mapping_at(look->mapping, look->offset, 1);
}

static void whoever_reads_a_mapping_in_place_is_left_where_its_file_has_ended(void **state)
{
    (void)state;
    struct temp_dir dir;
    struct mapping mapping = {0};
    temp_dir_make(&dir);
    write_pages(temp_path(&dir, "a"));
    WEIR_AUTO_FD int fd = open(temp_path(&dir, "a"), O_RDWR);
    assert_true(preprocess_mapping_open(&mapping, fd, (size_t)PAGES * PAGE_BYTES));
    struct look first = {&mapping, 0, -1}, second = {&mapping, PAGE_BYTES, -1};
    assert_true(preprocess_mapping_watch(look, &first));
    assert_true(preprocess_mapping_watch(look, &second));
    assert_int_equal(second.seen, 'b');
    assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
    for (int i = 0; i < 3; i++) {
        first.seen = second.seen = -1;
        assert_false(preprocess_mapping_watch(look, &second));
        assert_int_equal(second.seen, -1);
        assert_true(preprocess_mapping_watch(look, &first));
        assert_int_equal(first.seen, 'a');
    }
    preprocess_mapping_close(&mapping);
    temp_dir_remove(&dir);
}

static void many_small_samples_come_from_a_mapping_and_are_as_stale_as_others(void **state)
{
    (void)state;
    struct temp_dir dir;
    WEIR_AUTO_BUF out = {0};
    char path[512], other[512];
    temp_dir_make(&dir);
    snprintf(path, sizeof(path), "%s", temp_path(&dir, "a"));
    snprintf(other, sizeof(other), "%s", temp_path(&dir, "b"));
    write_pages(path);
    write_pages(other);
    struct file_about about = about_of(path), about_other = about_of(other);
    struct files *files = preprocess_files_new();
    for (uint64_t i = 0; i < (uint64_t)2 * FILES_MAP_READS_MIN; i++) {
        uint64_t page = i % PAGES;
        weir_buf_clear(&out);
        assert_int_equal(read_some(files, &about, page * PAGE_BYTES + i, 1, &out), WEIR_OK);
        assert_int_equal(read_some(files, &about_other, page * PAGE_BYTES, 2, &out), WEIR_OK);
        assert_int_equal(out.at[0], 'a' + page);
        assert_int_equal(out.at[2], 'a' + page);
    }
    assert_int_equal(truncate(path, PAGE_BYTES), 0);
    weir_buf_clear(&out);
    assert_int_equal(read_some(files, &about, (uint64_t)5 * PAGE_BYTES, 1, &out), WEIR_STALE);
    assert_int_equal(read_some(files, &about_other, (uint64_t)5 * PAGE_BYTES, 1, &out), WEIR_OK);
    assert_int_equal(out.size, 1);
    assert_int_equal(out.at[0], 'f');
    assert_false(preprocess_files_check(files, &about));
    assert_true(preprocess_files_check(files, &about_other));
    preprocess_files_free(files);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bus_error_of_others_is_handled_as_before),
        cmocka_unit_test(a_mapped_file_that_is_cut_short_costs_what_lay_behind_its_end),
        cmocka_unit_test(whoever_reads_a_mapping_in_place_is_left_where_its_file_has_ended),
        cmocka_unit_test(many_small_samples_come_from_a_mapping_and_are_as_stale_as_others),
        cmocka_unit_test(bytes_come_from_their_place),
        cmocka_unit_test(another_file_is_stale_also_when_it_was_open),
        cmocka_unit_test(a_write_after_the_read_is_noticed),
        cmocka_unit_test(many_files_pass_through_few_descriptors),
        cmocka_unit_test(a_file_of_another_host_is_known_by_path_size_and_time_and_never_mapped),
    };
    return cmocka_run_group_tests_name("worker files", tests, NULL, NULL);
}
