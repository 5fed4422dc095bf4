/* Folders of dry runs that were killed, under a clock that jumps by years. */
#include "orchestrator/scratch_dir.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static const int64_t YEAR_US = INT64_C(365) * 24 * 3600 * 1000000;

static void a_fresh_folder_stays_and_one_of_another_time_goes_unless_it_is_locked(void **unused)
{
    (void)unused;
    struct temp_dir dir;
    struct weir_error err;
    temp_dir_make(&dir);
    assert_int_equal(setenv("TMPDIR", dir.path, 1), 0);
    for (int years = -50; years <= 50; years += 10) {
        WEIR_AUTO_FREE char *left = NULL;
        WEIR_AUTO_FREE char *held = NULL;
        assert_int_equal(orchestrator_scratch_dir_make(&left, &err), WEIR_OK);
        assert_int_equal(orchestrator_scratch_dir_make(&held, &err), WEIR_OK);
        int lock = open(held, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(lock, LOCK_EX), 0);
        orchestrator_scratch_dir_sweep(weir_now_wall_us() + years * YEAR_US);
        assert_int_equal(access(left, F_OK) == 0, years == 0);
        assert_int_equal(access(held, F_OK), 0);
        assert_int_equal(close(lock), 0);
        orchestrator_scratch_dir_sweep(weir_now_wall_us() + YEAR_US);
    }
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_folder_stays_and_one_of_another_time_goes_unless_it_is_locked),
    };
    return cmocka_run_group_tests_name("scratch_dir", tests, NULL, NULL);
}
