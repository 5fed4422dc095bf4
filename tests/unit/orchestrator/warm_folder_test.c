/* The folder of a trainer that stays: parted from the run that it finished, and given to another. */
#include "orchestrator/runs/warm_folder.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "orchestrator/models/content.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES_MAX = 64 };

struct folders {
    struct temp_dir dir;
    char *run, *idle, *next; /* "5", "idle-5", "7" */
    struct weir_error err;
};

static int begin(void **state)
{
    struct folders *folders = weir_calloc(1, sizeof(*folders));
    temp_dir_make(&folders->dir);
    folders->run = weir_format("%s/5", folders->dir.path);
    folders->idle = weir_format("%s/idle-5", folders->dir.path);
    folders->next = weir_format("%s/7", folders->dir.path);
    assert_int_equal(weir_make_directories(folders->run, 0700, &folders->err), WEIR_OK);
    *state = folders;
    return 0;
}

static int end(void **state)
{
    struct folders *folders = *state;
    temp_dir_remove(&folders->dir);
    free(folders->run);
    free(folders->idle);
    free(folders->next);
    free(folders);
    return 0;
}

static void put(struct folders *folders, const char *folder, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, name);
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of(name), &folders->err), WEIR_OK);
}

/* How many names the file has; 0: there is none. */
static nlink_t names_of(const char *folder, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, name);
    struct stat about;
    return lstat(path, &about) == 0 ? about.st_nlink : 0;
}

static void part(struct folders *folders, const char *model, const char *outputs)
{
    const char *const names[2] = {model, outputs};
    assert_int_equal(
        orchestrator_warm_folder_part(folders->run, folders->idle, names, &folders->err), WEIR_OK);
}

static void what_a_run_has_come_to_stays_with_it_alone(void **state)
{
    struct folders *folders = *state;
    put(folders, folders->run, "model");
    put(folders, folders->run, "outputs");
    put(folders, folders->run, "notes");
    part(folders, "model", "outputs");
    assert_int_equal(names_of(folders->run, "model"), 1);
    assert_int_equal(names_of(folders->run, "outputs"), 1);
    assert_int_equal(names_of(folders->run, "notes"), 0);
    assert_int_equal(names_of(folders->idle, "model"), 0);
    assert_int_equal(names_of(folders->idle, "outputs"), 0);
    assert_int_equal(names_of(folders->idle, "notes"), 1);
}

static void the_folder_stays_the_trainers_own_from_run_to_run(void **state)
{
    struct folders *folders = *state;
    WEIR_AUTO_FREE char *base = NULL;
    struct stat before, after;
    assert_int_equal(stat(folders->run, &before), 0);
    put(folders, folders->run, "notes");
    put(folders, folders->dir.path, "stored");
    WEIR_AUTO_FREE char *stored = weir_format("%s/stored", folders->dir.path);
    part(folders, "", "");
    assert_int_equal(
        orchestrator_warm_folder_give(folders->idle, folders->next, stored, &base, &folders->err),
        WEIR_OK);
    assert_int_equal(stat(folders->next, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(names_of(folders->next, "notes"), 0);
    assert_int_equal(names_of(folders->next, ORCHESTRATOR_BASE_FILE), 1);
    WEIR_AUTO_BUF content = {0};
    assert_int_equal(weir_file_read(base, BYTES_MAX, &content, &folders->err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&content), weir_bytes_of("stored")));
    assert_int_equal(names_of(folders->dir.path, "stored"), 1);
}

static void a_run_with_files_of_an_earlier_trainer_is_not_given(void **state)
{
    struct folders *folders = *state;
    WEIR_AUTO_FREE char *base = NULL;
    part(folders, "", "");
    assert_int_equal(weir_make_directories(folders->next, 0700, &folders->err), WEIR_OK);
    put(folders, folders->next, "checkpoint");
    assert_int_equal(
        orchestrator_warm_folder_give(folders->idle, folders->next, "", &base, &folders->err),
        WEIR_EXISTS);
    assert_int_equal(names_of(folders->next, "checkpoint"), 1);
}

static void a_folder_that_cannot_be_parted_is_as_it_was(void **state)
{
    struct folders *folders = *state;
    const char *const names[2] = {"model", "outputs"};
    put(folders, folders->run, "model"); /* and no outputs */
    assert_int_equal(
        orchestrator_warm_folder_part(folders->run, folders->idle, names, &folders->err), WEIR_IO);
    assert_int_equal(names_of(folders->run, "model"), 1);
    assert_int_equal(names_of(folders->dir.path, "result-5"), 0);
    assert_int_equal(names_of(folders->dir.path, "idle-5"), 0);
}

static void folders_that_a_dead_platform_left_are_told_by_their_names(void **unused)
{
    (void)unused;
    assert_true(orchestrator_warm_folder_is_left("idle-5"));
    assert_true(orchestrator_warm_folder_is_left("result-5"));
    assert_false(orchestrator_warm_folder_is_left("5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_run_has_come_to_stays_with_it_alone, begin, end),
        cmocka_unit_test_setup_teardown(the_folder_stays_the_trainers_own_from_run_to_run, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_run_with_files_of_an_earlier_trainer_is_not_given, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_parted_is_as_it_was, begin, end),
        cmocka_unit_test(folders_that_a_dead_platform_left_are_told_by_their_names),
    };
    return cmocka_run_group_tests_name("warm_folder", tests, NULL, NULL);
}
