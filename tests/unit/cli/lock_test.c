/* A data directory's lock, looked at from outside. */
#include "cli/lock.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char folder[64];
    char *lock;
};

static int make_folder(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    strcpy(fixture->folder, "/tmp/weir-lock-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    fixture->lock = weir_format("%s/lock", fixture->folder);
    *state = fixture;
    return 0;
}

static int remove_folder(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    assert_int_equal(weir_remove_tree(fixture->folder, &err), WEIR_OK);
    free(fixture->lock);
    free(fixture);
    return 0;
}

static void write_lock(const struct fixture *fixture, const char *text)
{
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(fixture->lock, weir_bytes_of(text), &err), WEIR_OK);
}

static void a_missing_directory_is_bad_usage(void **state)
{
    CLI_AUTO_LOCK lock = {.held = false};
    struct weir_error err;
    (void)state;
    assert_int_equal(cli_lock_look("/nonexistent/data", &lock, &err), WEIR_INVALID);
    assert_string_equal(
        err.text, "data directory /nonexistent/data does not exist: name another one with "
                  "--data-dir, a platform elsewhere with --key or by weir context use, or begin "
                  "with: orchestrator run PIPELINE.yaml --data-dir /nonexistent/data");
}

static void a_directory_that_was_never_served_is_bad_usage(void **state)
{
    const struct fixture *fixture = *state;
    CLI_AUTO_LOCK lock = {.held = false};
    struct weir_error err;
    assert_int_equal(cli_lock_look(fixture->folder, &lock, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "holds nothing of Weir"));
}

static void a_held_lock_says_who_and_where(void **state)
{
    const struct fixture *fixture = *state;
    CLI_AUTO_LOCK lock = {.held = false};
    CLI_AUTO_LOCK after = {.held = true};
    struct weir_error err;
    write_lock(fixture, "4711\n/some/where/run\n");
    int fd = open(fixture->lock, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(cli_lock_look(fixture->folder, &lock, &err), WEIR_OK);
    assert_true(lock.held);
    assert_int_equal(lock.pid, 4711);
    assert_string_equal(lock.socket_dir, "/some/where/run");
    close(fd);
    assert_int_equal(cli_lock_look(fixture->folder, &after, &err), WEIR_OK);
    assert_false(after.held);
}

static void looking_leaves_the_lock_free(void **state)
{
    const struct fixture *fixture = *state;
    CLI_AUTO_LOCK lock = {.held = true};
    struct weir_error err;
    write_lock(fixture, "1\n/x\n");
    assert_int_equal(cli_lock_look(fixture->folder, &lock, &err), WEIR_OK);
    int fd = open(fixture->lock, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

static void a_half_written_lock_names_no_place_yet(void **state)
{
    static const char *const TEXTS[] = {"", "12", "12\n", "rubbish"};
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        CLI_AUTO_LOCK lock = {.held = true};
        struct weir_error err;
        write_lock(fixture, TEXTS[i]);
        assert_int_equal(cli_lock_read(fixture->folder, &lock, &err), WEIR_OK);
        assert_string_equal(lock.socket_dir, "");
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_directory_is_bad_usage),
        IN_FOLDER(a_directory_that_was_never_served_is_bad_usage),
        IN_FOLDER(a_held_lock_says_who_and_where),
        IN_FOLDER(looking_leaves_the_lock_free),
        IN_FOLDER(a_half_written_lock_names_no_place_yet),
    };
    return cmocka_run_group_tests_name("cli lock", tests, NULL, NULL);
}
