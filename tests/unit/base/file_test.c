/* Bounded reads, atomic writes, directories and trees. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int make_dir(void **state)
{
    struct temp_dir *dir = weir_calloc(1, sizeof(*dir));
    temp_dir_make(dir);
    *state = dir;
    return 0;
}

static int remove_dir(void **state)
{
    temp_dir_remove(*state);
    free(*state);
    return 0;
}

static bool exists(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

static void write_text(const char *path, const char *text)
{
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of(text), &err), WEIR_OK);
}

static void assert_holds(const char *path, const char *text)
{
    struct weir_error err;
    WEIR_AUTO_BUF buf = {0};
    assert_int_equal(weir_file_read(path, 1 << 20, &buf, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&buf), text);
}

static void what_is_written_is_read_back_and_no_temporary_stays(void **state)
{
    struct temp_dir *dir = *state;
    write_text(temp_path(dir, "a"), "one");
    assert_holds(temp_path(dir, "a"), "one");
    write_text(temp_path(dir, "a"), "two");
    assert_holds(temp_path(dir, "a"), "two");
    assert_false(exists(temp_path(dir, "a.tmp")));
}

static void pieces_are_written_end_to_end(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    const struct weir_bytes pieces[] = {weir_bytes_of("a"), weir_bytes(NULL, 0),
                                        weir_bytes_of("bc")};
    assert_int_equal(weir_file_write_pieces(temp_path(dir, "p"), pieces, 3, &err), WEIR_OK);
    assert_holds(temp_path(dir, "p"), "abc");
}

static void a_read_appends_and_is_bounded(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    WEIR_AUTO_BUF buf = {0};
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(dir, "a"));
    write_text(path, "12345678");
    weir_buf_append_text(&buf, ">");
    assert_int_equal(weir_file_read(path, 8, &buf, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&buf), ">12345678");
    assert_int_equal(weir_file_read(path, 7, &buf, &err), WEIR_LIMIT);
    assert_string_equal(weir_buf_text(&buf), ">12345678");
    assert_non_null(strstr(err.text, "larger than 7 bytes"));
    assert_int_equal(weir_file_read(path, SIZE_MAX, &buf, &err), WEIR_OK);
    assert_int_equal(buf.size, 17);
}

static void large_files_are_read_whole(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    enum { SIZE = 300000 };
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(SIZE, 1);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    const char *path = temp_path(dir, "large");
    assert_int_equal(weir_file_write_atomic(path, weir_bytes(bytes, SIZE), &err), WEIR_OK);
    WEIR_AUTO_BUF buf = {0};
    assert_int_equal(weir_file_read(path, SIZE, &buf, &err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&buf), weir_bytes(bytes, SIZE)));
    WEIR_AUTO_BUF roomy = {0};
    assert_int_equal(weir_file_read(path, SIZE_MAX, &roomy, &err), WEIR_OK);
    assert_true(roomy.capacity < SIZE + SIZE / 2); /* made once, and not copied */

    void *at = NULL;
    size_t size = 0;
    assert_int_equal(weir_file_map(path, &at, &size, &err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_bytes(at, size), weir_bytes(bytes, SIZE)));
    weir_file_unmap(at, size);
}

static void a_link_is_mapped_only_where_it_may_be(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    void *at;
    size_t size;
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(dir, "file"));
    WEIR_AUTO_FREE char *link = weir_strdup(temp_path(dir, "link"));
    write_text(path, "text");
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(weir_file_map(link, &at, &size, &err), WEIR_OK);
    weir_file_unmap(at, size);
    assert_int_equal(weir_file_map_no_link(path, &at, &size, &err), WEIR_OK);
    weir_file_unmap(at, size);
    assert_int_equal(weir_file_map_no_link(link, &at, &size, &err), WEIR_IO);
}

static void an_empty_file_is_read_and_mapped_as_nothing(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    void *at = &err;
    size_t size = 1;
    write_text(temp_path(dir, "empty"), "");
    assert_holds(temp_path(dir, "empty"), "");
    assert_int_equal(weir_file_map(temp_path(dir, "empty"), &at, &size, &err), WEIR_OK);
    assert_null(at);
    assert_int_equal(size, 0);
    weir_file_unmap(at, size);
}

static void errors_name_the_path_and_the_reason(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    void *at;
    size_t size;
    WEIR_AUTO_BUF buf = {0};
    assert_int_equal(weir_file_read(temp_path(dir, "none"), 1, &buf, &err), WEIR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/none: cannot open: No such file"));
    assert_int_equal(weir_file_map(temp_path(dir, "none"), &at, &size, &err), WEIR_NOT_FOUND);
    assert_int_equal(weir_file_read(dir->path, 1, &buf, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "expected a regular file"));
    assert_int_equal(weir_file_map(dir->path, &at, &size, &err), WEIR_IO);
    assert_int_equal(weir_file_write_atomic(temp_path(dir, "no/such"), weir_bytes_of(""), &err),
                     WEIR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no/such.tmp: cannot create"));
}

static void a_write_that_fails_leaves_the_old_file_and_no_temporary(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    assert_int_equal(weir_make_directories(temp_path(dir, "taken/inside"), 0700, &err), WEIR_OK);
    assert_int_equal(weir_file_write_atomic(temp_path(dir, "taken"), weir_bytes_of("x"), &err),
                     WEIR_IO);
    assert_true(exists(temp_path(dir, "taken/inside")));
    assert_false(exists(temp_path(dir, "taken.tmp")));
}

/* Writes 1 MiB where no file may be larger than 64 kiB. */
static int write_too_much(const void *path)
{
    const rlim_t limit = 64 << 10;
    struct weir_error err;
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(1 << 20, 1);
    signal(SIGXFSZ, SIG_IGN);
    weir_require(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit}) == 0);
    bool right = weir_file_write_atomic(path, weir_bytes(bytes, 1 << 20), &err) == WEIR_IO &&
                 strstr(err.text, "kept.tmp: cannot write: File too large") != NULL;
    weir_require(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) == 0 ||
                 errno == EPERM); /* lines are counted in larger files */
    return right ? 0 : 1;
}

static void a_write_that_ends_early_leaves_the_old_file_and_no_temporary(void **state)
{
    struct temp_dir *dir = *state;
    struct child child;
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(dir, "kept"));
    write_text(path, "old");
    child_run(&child, write_too_much, path);
    assert_true(child_left_with(&child, 0));
    assert_holds(path, "old");
    assert_false(exists(temp_path(dir, "kept.tmp")));
}

static void what_the_system_refuses_is_reported_in_its_words(void **state)
{
    (void)state;
    struct weir_error err;
    WEIR_AUTO_BUF buf = {0};
    weir_buf_append_text(&buf, "before");
    assert_int_equal(weir_file_read("/proc/self/mem", 100, &buf, &err), WEIR_IO);
    assert_string_equal(err.text, "/proc/self/mem: cannot read: Input/output error");
    assert_string_equal(weir_buf_text(&buf), "before");
    assert_int_equal(weir_make_directories("/proc/none/below", 0700, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "/proc/none: cannot make the directory: "));
    assert_int_equal(weir_remove_tree("/proc/self/fdinfo", &err), WEIR_IO);
    assert_non_null(strstr(err.text, "cannot remove: "));
}

static void a_tree_deeper_than_64_directories_is_left_alone(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    WEIR_AUTO_BUF path = {0};
    weir_buf_append_text(&path, dir->path);
    for (int depth = 0; depth <= 64; depth++)
        weir_buf_append_text(&path, "/d");
    assert_int_equal(weir_make_directories(weir_buf_text(&path), 0700, &err), WEIR_OK);
    assert_int_equal(weir_remove_tree(temp_path(dir, "d"), &err), WEIR_LIMIT);
    assert_non_null(strstr(err.text, "deeper than 64 directories"));
    assert_int_equal(weir_remove_tree(temp_path(dir, "d/d"), &err), WEIR_OK);
    assert_true(exists(temp_path(dir, "d")));
}

static void directories_are_made_with_their_parents_and_may_exist(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    struct stat found;
    assert_int_equal(weir_make_directories(temp_path(dir, "a/b//c/"), 0700, &err), WEIR_OK);
    assert_int_equal(weir_make_directories(temp_path(dir, "a/b/c"), 0700, &err), WEIR_OK);
    assert_int_equal(stat(temp_path(dir, "a/b/c"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0700);
    assert_int_equal(weir_make_directories("/", 0700, &err), WEIR_OK);
    write_text(temp_path(dir, "file"), "");
    assert_int_equal(weir_make_directories(temp_path(dir, "file"), 0700, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "is no directory"));
    assert_int_equal(weir_make_directories(temp_path(dir, "file/below"), 0700, &err), WEIR_IO);
}

static void a_tree_is_removed_but_not_what_its_links_point_to(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    WEIR_AUTO_FREE char *kept = weir_strdup(temp_path(dir, "kept"));
    WEIR_AUTO_FREE char *tree = weir_strdup(temp_path(dir, "tree"));
    assert_int_equal(weir_make_directories(kept, 0700, &err), WEIR_OK);
    write_text(temp_path(dir, "kept/file"), "precious");
    assert_int_equal(weir_make_directories(temp_path(dir, "tree/a/b"), 0700, &err), WEIR_OK);
    write_text(temp_path(dir, "tree/a/b/file"), "x");
    assert_int_equal(symlink(kept, temp_path(dir, "tree/a/link")), 0);

    assert_int_equal(weir_remove_tree(tree, &err), WEIR_OK);
    assert_false(exists(tree));
    assert_holds(temp_path(dir, "kept/file"), "precious");

    assert_int_equal(symlink(kept, tree), 0);
    assert_int_equal(weir_remove_tree(tree, &err), WEIR_OK);
    assert_holds(temp_path(dir, "kept/file"), "precious");
    assert_int_equal(weir_remove_tree(temp_path(dir, "kept/file"), &err), WEIR_OK);
    assert_int_equal(weir_remove_tree(temp_path(dir, "kept/file"), &err), WEIR_OK); /* absent */
}

static void the_directory_of_a_path_can_be_synced(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    assert_int_equal(weir_sync_parent(temp_path(dir, "x"), &err), WEIR_OK);
    assert_int_equal(weir_sync_parent("x", &err), WEIR_OK);
    assert_int_equal(weir_sync_parent("/x", &err), WEIR_OK);
    assert_int_equal(weir_sync_parent(temp_path(dir, "no/x"), &err), WEIR_NOT_FOUND);
}

static void a_descriptor_is_closed_at_the_end_of_its_scope(void **state)
{
    (void)state;
    int number;
    {
        WEIR_AUTO_FD int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        number = fd;
        WEIR_AUTO_FD int none = -1;
        assert_true(fd >= 0 && none < 0);
    }
    assert_int_equal(fcntl(number, F_GETFD), -1);
}

static void a_pipe_in_the_place_of_a_file_is_not_waited_for(void **state)
{
    struct temp_dir *dir = *state;
    struct weir_error err;
    WEIR_AUTO_BUF buf = {0};
    void *at = NULL;
    size_t size = 0;
    const char *path = temp_path(dir, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(weir_file_read(path, 100, &buf, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "expected a regular file"));
    assert_int_equal(weir_file_map(path, &at, &size, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "expected a regular file"));
}

static void times_of_files_come_back_as_they_were(void **state)
{
    static const struct {
        struct timespec time;
        int64_t ns, us;
    } CASES[] = {
        {{1, 500000000}, 1500000000, 1500000},
        {{-2, 500000000}, -1500000000, -1500000}, /* before 1970 */
        {{-1, 0}, -1000000000, -1000000},
        {{0, 0}, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const struct stat about = {.st_mtim = CASES[i].time};
        assert_true(weir_mtime_ns(&about) == CASES[i].ns);
        assert_true(weir_mtime_us(&about) == CASES[i].us);
        const struct timespec back[] = {weir_mtime_of_ns(CASES[i].ns),
                                        weir_mtime_of_us(CASES[i].us)};
        for (size_t k = 0; k < WEIR_COUNT(back); k++) {
            assert_true(back[k].tv_sec == CASES[i].time.tv_sec);
            assert_int_equal(back[k].tv_nsec, CASES[i].time.tv_nsec);
        }
    }
}

static void times_that_no_number_holds_are_told_apart(void **state)
{
    const struct stat late = {.st_mtim = {INT64_MAX, 999999999}};
    const struct stat later = {.st_mtim = {INT64_MAX - 1, 0}};
    (void)state;
    assert_true(weir_mtime_ns(&late) != weir_mtime_ns(&later));
    assert_true(weir_mtime_us(&late) != weir_mtime_us(&later));
}

static void a_read_at_a_place_ends_where_the_file_does(void **state)
{
    struct temp_dir *dir = *state;
    char bytes[8] = {0};
    write_text(temp_path(dir, "a"), "0123456789");
    WEIR_AUTO_FD int fd = open(temp_path(dir, "a"), O_RDONLY);
    assert_int_equal(weir_read_at(fd, bytes, 4, 3), 4);
    assert_memory_equal(bytes, "3456", 4);
    assert_int_equal(weir_read_at(fd, bytes, 8, 7), 3);
    assert_memory_equal(bytes, "789", 3);
    assert_int_equal(weir_read_at(fd, bytes, 8, 10), 0);
    assert_int_equal(weir_read_at(-1, bytes, 8, 0), -1);
    assert_int_equal(errno, EBADF);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read_back_and_no_temporary_stays),
        TEST(pieces_are_written_end_to_end),
        TEST(a_read_appends_and_is_bounded),
        TEST(large_files_are_read_whole),
        TEST(an_empty_file_is_read_and_mapped_as_nothing),
        TEST(a_link_is_mapped_only_where_it_may_be),
        TEST(errors_name_the_path_and_the_reason),
        TEST(a_write_that_fails_leaves_the_old_file_and_no_temporary),
        TEST(a_write_that_ends_early_leaves_the_old_file_and_no_temporary),
        TEST(what_the_system_refuses_is_reported_in_its_words),
        TEST(a_tree_deeper_than_64_directories_is_left_alone),
        TEST(directories_are_made_with_their_parents_and_may_exist),
        TEST(a_tree_is_removed_but_not_what_its_links_point_to),
        TEST(the_directory_of_a_path_can_be_synced),
        TEST(a_descriptor_is_closed_at_the_end_of_its_scope),
        TEST(a_pipe_in_the_place_of_a_file_is_not_waited_for),
        TEST(a_read_at_a_place_ends_where_the_file_does),
        TEST(times_of_files_come_back_as_they_were),
        TEST(times_that_no_number_holds_are_told_apart),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
