/* Samples that crash their worker, with processes that really die. */
#include "preprocess/worker/crashes.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOB = 7, SAMPLE = 4711 };

struct fixture {
    struct temp_dir dir;
    const char *path;
    uint64_t oom_kills; /* as the kernel says */
};

static int set_up(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    temp_dir_make(&fixture->dir);
    fixture->path = temp_path(&fixture->dir, "crashes");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    temp_dir_remove(&fixture->dir);
    free(fixture);
    return 0;
}

static struct crashes *open_as(const struct fixture *fixture, const char *name)
{
    struct weir_error err;
    struct crashes *crashes = NULL;
    if (preprocess_crashes_open(fixture->path, name, fixture->oom_kills, &crashes, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return crashes;
}

/* A worker of that name that is at work on the sample (0: on none) when the signal comes. */
static void die(const struct fixture *fixture, const char *name, uint64_t sample, int number)
{
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(number, SIG_DFL); /* a sanitizer would report, and exit in its own way */
        struct crashes *crashes = open_as(fixture, name);
        *preprocess_crashes_watch(crashes, JOB) = sample;
        raise(number);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static bool is_given_up(const struct fixture *fixture, uint64_t job, uint64_t sample,
                        int *ret_signal)
{
    struct crashes *crashes = open_as(fixture, "worker-1");
    bool is = preprocess_crashes_is_given_up(crashes, job, sample, ret_signal);
    preprocess_crashes_close(crashes);
    return is;
}

static void a_sample_is_given_up_after_so_many_deaths(void **state)
{
    int number = 0;
    for (int i = 0; i < CRASHES_MAX; i++) {
        assert_false(is_given_up(*state, JOB, SAMPLE, &number));
        die(*state, "worker-1", SAMPLE, SIGSEGV);
    }
    assert_true(is_given_up(*state, JOB, SAMPLE, &number));
    assert_int_equal(number, SIGSEGV);
    assert_false(is_given_up(*state, JOB, SAMPLE + 1, &number));
    assert_false(is_given_up(*state, JOB + 1, SAMPLE, &number));
}

static void the_deaths_of_all_workers_count(void **state)
{
    int number = 0;
    die(*state, "worker-1", SAMPLE, SIGABRT);
    die(*state, "worker-2", SAMPLE, SIGBUS);
    preprocess_crashes_close(open_as(*state, "worker-2"));
    assert_true(is_given_up(*state, JOB, SAMPLE, &number));
}

static void who_is_killed_or_at_work_on_no_sample_counts_for_nothing(void **state)
{
    int number = 0;
    for (int i = 0; i < 2 * CRASHES_MAX; i++) {
        die(*state, "worker-1", SAMPLE, SIGKILL);
        die(*state, "worker-1", 0, SIGSEGV);
    }
    assert_false(is_given_up(*state, JOB, SAMPLE, &number));
    assert_false(is_given_up(*state, JOB, 0, &number));
}

static void a_sample_that_makes_the_kernel_kill_for_memory_is_given_up(void **state)
{
    struct fixture *fixture = *state;
    int number = 0;
    for (int i = 0; i < CRASHES_MAX; i++) {
        assert_false(is_given_up(fixture, JOB, SAMPLE, &number));
        die(fixture, "worker-1", SAMPLE, SIGKILL);
        fixture->oom_kills++;
    }
    assert_true(is_given_up(fixture, JOB, SAMPLE, &number));
    assert_int_equal(number, SIGKILL);
}

static void a_kernel_that_killed_while_no_sample_was_read_counts_for_nothing(void **state)
{
    struct fixture *fixture = *state;
    int number = 0;
    for (int i = 0; i < 2 * CRASHES_MAX; i++) {
        die(fixture, "worker-1", 0, SIGKILL);
        fixture->oom_kills++; /* before the next one starts */
        die(fixture, "worker-1", SAMPLE, SIGKILL);
    }
    assert_false(is_given_up(fixture, JOB, SAMPLE, &number));
    assert_false(is_given_up(fixture, JOB, 0, &number));
}

static void another_file_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct weir_error err;
    struct crashes *crashes = NULL;
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    fputs("something else", file);
    fclose(file);
    assert_int_equal(preprocess_crashes_open(fixture->path, "worker-1", 0, &crashes, &err),
                     WEIR_IO);
    assert_non_null(strstr(err.text, "another size"));
}

static int is_refused(const struct fixture *fixture, const char *reason)
{
    struct crashes *crashes = NULL;
    struct weir_error err;
    bool is_said =
        preprocess_crashes_open(fixture->path, "worker-1", 0, &crashes, &err) == WEIR_LIMIT &&
        strstr(err.text, fixture->path) != NULL && strstr(err.text, reason) != NULL;
    preprocess_crashes_close(crashes);
    return is_said ? 0 : 1;
}

static int opens_on_a_full_disk(const void *argument)
{
    setenv("WEIR_FAULTS", "crashes.reserve=1", 1);
    return is_refused(argument, "No space left on device");
}

static int opens_where_files_stay_small(const void *argument)
{
    const struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? is_refused(argument, "File too large") : 1;
}

static void a_full_disk_is_said_by_name(void **state)
{
    struct child child;
    child_run(&child, opens_on_a_full_disk, *state);
    assert_true(child_left_with(&child, 0));
    child_run(&child, opens_where_files_stay_small, *state);
    assert_true(child_left_with(&child, 0));
}

static void the_count_of_the_kernel_is_found_by_its_whole_name(void **state)
{
    (void)state;
    static const struct {
        const char *vmstat;
        uint64_t kills;
    } CASES[] = {
        {"nr_free_pages 1\noom_kill 17\nnuma_hit 3\n", 17},
        {"nr_free_pages 1\noom_kill 0\n", 0},
        {"a 1\noom_kill 18446744073709551615\n", UINT64_MAX},
        {"a 1\noom_kill_disable 9\nmemcg_oom_kill 8\n", 0},
        {"a 1\noom_kill_disable 9\noom_kill 7\n", 7},
        {"a 1\noom_kill \n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_int_equal(preprocess_crashes_oom_kills_in(CASES[i].vmstat), CASES[i].kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: points of faults are read once */
        cmocka_unit_test_setup_teardown(a_full_disk_is_said_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_is_given_up_after_so_many_deaths, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_deaths_of_all_workers_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_killed_or_at_work_on_no_sample_counts_for_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_that_makes_the_kernel_kill_for_memory_is_given_up,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_kernel_that_killed_while_no_sample_was_read_counts_for_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_file_is_refused, set_up, tear_down),
        cmocka_unit_test(the_count_of_the_kernel_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests_name("crashes", tests, NULL, NULL);
}
