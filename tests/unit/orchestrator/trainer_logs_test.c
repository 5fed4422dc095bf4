/* Logs of trainers that stay. */
#include "orchestrator/trainer_logs.h"

#include "core/base/file.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_there(struct temp_dir *dir, const char *file)
{
    return access(temp_path(dir, file), F_OK) == 0;
}

static void the_logs_of_the_newest_runs_stay_and_so_does_what_is_no_log_of_a_run(void **unused)
{
    (void)unused;
    static const char *const STAY[] = {"trainer-203.log", "trainer-204.log.1", "trainer-999.log",
                                       "trainer-.log",    "trainer--1.log",    "trainer-1.txt",
                                       "worker-1.log",    "storage.log"};
    static const char *const GO[] = {"trainer-1.log", "trainer-202.log", "trainer-202.log.1"};
    struct temp_dir dir;
    struct weir_error err;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(STAY); i++)
        assert_int_equal(
            weir_file_write_atomic(temp_path(&dir, STAY[i]), weir_bytes_of("text\n"), &err),
            WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(GO); i++)
        assert_int_equal(
            weir_file_write_atomic(temp_path(&dir, GO[i]), weir_bytes_of("text\n"), &err), WEIR_OK);
    orchestrator_trainer_logs_remove_old(dir.path, 202 + TRAINER_LOGS_MAX);
    for (size_t i = 0; i < WEIR_COUNT(STAY); i++)
        assert_true(is_there(&dir, STAY[i]));
    for (size_t i = 0; i < WEIR_COUNT(GO); i++)
        assert_false(is_there(&dir, GO[i]));
    orchestrator_trainer_logs_remove_old("/nonexistent", 1000);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_logs_of_the_newest_runs_stay_and_so_does_what_is_no_log_of_a_run),
    };
    return cmocka_run_group_tests_name("trainer_logs", tests, NULL, NULL);
}
