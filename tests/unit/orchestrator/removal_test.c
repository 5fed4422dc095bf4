/* Removals that outlast a power cut: their folder is synced. The fsync() here is this test's own. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/pipeline/probe.h"
#include "orchestrator/runs/run.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char synced[4096]; /* the newest path */

int fsync(int fd)
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, synced, sizeof(synced) - 1);
    synced[size > 0 ? size : 0] = '\0';
    return 0;
}

static void write_file(struct temp_dir *dir, const char *folder, const char *name)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *below = weir_strdup(temp_path(dir, folder));
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", below, name);
    assert_int_equal(weir_make_directories(below, 0700, &err), WEIR_OK);
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of("text"), &err), WEIR_OK);
    synced[0] = '\0';
}

static void the_files_of_a_run_are_gone_for_good(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    temp_dir_make(&dir);
    const struct context context = {.data_dir = dir.path};
    write_file(&dir, "runs/7", "checkpoint");
    assert_int_equal(orchestrator_run_remove_files(&context, 7, &err), WEIR_OK);
    assert_string_equal(synced, temp_path(&dir, "runs"));
    assert_int_not_equal(access(temp_path(&dir, "runs/7"), F_OK), 0);
    assert_int_equal(orchestrator_run_remove_files(&context, 8, &err), WEIR_OK); /* never there */
    assert_int_equal(weir_remove_tree(temp_path(&dir, "runs"), &err), WEIR_OK);
    assert_int_equal(orchestrator_run_remove_files(&context, 8, &err), WEIR_OK);
    temp_dir_remove(&dir);
}

static void kept_windows_that_are_purged_are_gone_for_good(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    int64_t removed = 0;
    temp_dir_make(&dir);
    const struct context context = {.data_dir = dir.path};
    write_file(&dir, "probes", "1-window");
    assert_int_equal(orchestrator_probes_purge(&context, &removed, &err), WEIR_OK);
    assert_int_equal(removed, 1);
    assert_string_equal(synced, temp_path(&dir, "probes"));
    temp_dir_remove(&dir);
}

static void a_folder_that_is_made_is_synced_with_the_one_that_holds_it(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    temp_dir_make(&dir);
    synced[0] = '\0';
    assert_int_equal(weir_make_directories(temp_path(&dir, "one"), 0700, &err), WEIR_OK);
    assert_string_equal(synced, dir.path);
    assert_int_equal(weir_make_directories(temp_path(&dir, "one/two/three"), 0700, &err), WEIR_OK);
    assert_string_equal(synced, temp_path(&dir, "one/two"));
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_of_a_run_are_gone_for_good),
        cmocka_unit_test(kept_windows_that_are_purged_are_gone_for_good),
        cmocka_unit_test(a_folder_that_is_made_is_synced_with_the_one_that_holds_it),
    };
    return cmocka_run_group_tests_name("removal", tests, NULL, NULL);
}
