/* The supervisor with real processes: restarts, order, stubborn children. */
#include "orchestrator/processes/spawn.h"
#include "tests/support/platform_case.h"

#include <fcntl.h>

static void case_restart(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct ends ends = {0};
    start_shell(supervisor, "one", "exec sleep 1000", ORCHESTRATOR_STAGE_SERVICE, &ends);
    for (unsigned round = 1; round <= 3; round++) {
        pid_t pid = orchestrator_supervisor_pid(supervisor, "one");
        int64_t killed_ms = weir_now_ms();
        expect(pid > 0 && kill(pid, SIGKILL) == 0);
        while (orchestrator_supervisor_pid(supervisor, "one") == pid ||
               orchestrator_supervisor_pid(supervisor, "one") == 0) {
            expect(weir_now_ms() < killed_ms + TEST_PATIENCE_MS);
            weir_loop_step(loop, TEST_STEP_MS);
        }
        expect(ends.restarted && ends.killed && ends.restarts == round);
        expect(weir_now_ms() - killed_ms >= ORCHESTRATOR_RESTART_MS_MIN << (round - 1));
    }
}

static void a_killed_child_is_started_again_after_a_growing_pause(void **state)
{
    run_case(state, case_restart);
}

static void case_log(const struct fixture *fixture)
{
    char path[128], aside[140], kept[16] = "";
    struct stat found;
    (void)snprintf(path, sizeof(path), "%s/talker.log", fixture->directory);
    (void)snprintf(aside, sizeof(aside), "%s.1", path);
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int round = 0; round < 3; round++) {
        expect(dprintf(fd, "%08d%08d", round, round) == 16);
        orchestrator_log_bound(path, 16);
        expect(fstat(fd, &found) == 0 && found.st_size == 16); /* not beyond its bound */
        expect(dprintf(fd, "last%04d", round) == 8);
        orchestrator_log_bound(path, 16);
        expect(fstat(fd, &found) == 0 && found.st_size == 0);
        WEIR_AUTO_FD int old = open(aside, O_RDONLY);
        expect(pread(old, kept, sizeof(kept), 0) == 16 && pread(old, kept, 1, 16) == 0);
        expect(memcmp(kept + 8, "last", 4) == 0);
    }
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct ends ends = {0};
    /* Little more than the bound: the log is looked at now and then, and a program writes meanwhile. */
    start_shell(supervisor, "talker", "yes | head -c 17000000; exec sleep 1000",
                ORCHESTRATOR_STAGE_SERVICE, &ends);
    expect(unlink(aside) == 0);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; access(aside, F_OK) != 0;) {
        expect(weir_now_ms() < end_ms);
        weir_loop_step(loop, TEST_STEP_MS);
    }
    expect(stat(aside, &found) == 0 && found.st_size <= 17000000);
    expect(!ends.restarted);
}

static void a_log_is_bounded_while_its_program_runs(void **state)
{
    run_case(state, case_log);
}

/* The first line of a log, once it is there. */
static void await_line(struct weir_loop *loop, const struct fixture *fixture, const char *name,
                       const char *expected)
{
    char path[128], line[64] = "";
    (void)snprintf(path, sizeof(path), "%s/%s.log", fixture->directory, name);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; strcmp(line, expected) != 0;) {
        expect(weir_now_ms() < end_ms);
        weir_loop_step(loop, TEST_STEP_MS);
        orchestrator_log_last_line(path, line, sizeof(line));
    }
}

static void case_rename(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct ends ends = {0};
    struct weir_error err;
    start_shell(supervisor, "five",
                "echo before; trap 'echo after' USR1; while :; do sleep 0.01; done",
                ORCHESTRATOR_STAGE_SERVICE, &ends);
    start_shell(supervisor, "taken", "exec sleep 1000", ORCHESTRATOR_STAGE_SERVICE, &ends);
    pid_t pid = orchestrator_supervisor_pid(supervisor, "five");
    await_line(loop, fixture, "five", "before");
    expect(orchestrator_supervisor_rename(supervisor, "six", "seven", &err) == WEIR_NOT_FOUND);
    expect(orchestrator_supervisor_rename(supervisor, "five", "taken", &err) == WEIR_EXISTS);
    expect(orchestrator_supervisor_rename(supervisor, "five", "seven", &err) == WEIR_OK);
    expect(orchestrator_supervisor_pid(supervisor, "five") == 0);
    expect(orchestrator_supervisor_pid(supervisor, "seven") == pid);
    expect(kill(pid, SIGUSR1) == 0);
    await_line(loop, fixture, "seven", "after");
    await_line(loop, fixture, "five", "before");
    expect(!ends.restarted);
}

static void a_child_of_another_name_goes_on_in_another_log(void **state)
{
    run_case(state, case_rename);
}

static void case_order(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct ends ends = {0};
    start_shell(supervisor, "base", "exec sleep 1000", ORCHESTRATOR_STAGE_DATABASE, &ends);
    start_shell(supervisor, "middle", "exec sleep 1000", ORCHESTRATOR_STAGE_SERVICE, &ends);
    start_shell(supervisor, "top", "exec sleep 1000", ORCHESTRATOR_STAGE_LAUNCHED, &ends);
    bool stopped = false;
    orchestrator_supervisor_stop_all(supervisor, raise_flag, &stopped);
    step_until(loop, &stopped);
    expect(strcmp(ends.order, "top middle base ") == 0);
    expect(!ends.restarted);
}

static void children_stop_in_the_reverse_order_of_their_stages(void **state)
{
    run_case(state, case_order);
}

static void case_stubborn(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct ends ends = {0};
    start_shell(supervisor, "deaf", "trap '' TERM; echo armed; while :; do sleep 1000; done",
                ORCHESTRATOR_STAGE_SERVICE, &ends);
    char log_path[128];
    char line[64] = "";
    (void)snprintf(log_path, sizeof(log_path), "%s/deaf.log", fixture->directory);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; strcmp(line, "armed") != 0;) {
        expect(weir_now_ms() < end_ms);
        weir_loop_step(loop, TEST_STEP_MS);
        orchestrator_log_last_line(log_path, line, sizeof(line));
    }
    bool stopped = false;
    orchestrator_supervisor_stop_all(supervisor, raise_flag, &stopped);
    step_until(loop, &stopped);
    expect(ends.killed);
}

static void a_child_that_ignores_the_request_to_stop_is_killed(void **state)
{
    run_case(state, case_stubborn);
}

/* Steps the loop until `fd`, a pipe, says so many bytes more; 0: until its last writer is gone. */
static void await_read(struct weir_loop *loop, int fd, ssize_t bytes)
{
    char byte;
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; read(fd, &byte, 1) != bytes;
         weir_loop_step(loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

/* As initdb, which has a server at work. */
static void case_ends_for_good(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    struct weir_error err;
    WEIR_AUTO_FREE char *pipe = weir_format("%s/pipe", fixture->directory);
    WEIR_AUTO_FREE char *script = weir_format("(echo; exec sleep 1000) >%s & wait", pipe);
    char shell[] = "/bin/sh", option[] = "-c";
    char *argv[] = {shell, option, script, NULL};
    const struct orchestrator_child child = {
        .name = "maker", .argv = argv, .stage = ORCHESTRATOR_STAGE_DATABASE};
    expect(mkfifo(pipe, 0600) == 0);
    WEIR_AUTO_FD int fd = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    expect(fd >= 0 && orchestrator_supervisor_start(supervisor, &child, &err) == WEIR_OK);
    await_read(loop, fd, 1);
    bool stopped = false;
    orchestrator_supervisor_stop_all(supervisor, raise_flag, &stopped);
    step_until(loop, &stopped);
    await_read(loop, fd, 0);
}

static void one_that_ends_for_good_leaves_no_process_of_its_own(void **state)
{
    run_case(state, case_ends_for_good);
}

static void case_cannot_start(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(orchestrator_supervisor)
    supervisor = orchestrator_supervisor_new(loop, fixture->directory);
    char program[] = "/nowhere/storage";
    char *argv[] = {program, NULL};
    const struct orchestrator_child child = {.name = "storage", .argv = argv};
    struct weir_error err;
    expect(orchestrator_supervisor_start(supervisor, &child, &err) == WEIR_NOT_FOUND);
    expect(strstr(err.text, "cannot start /nowhere/storage: No such file") != NULL);
}

static void a_program_that_is_not_there_is_named(void **state)
{
    run_case(state, case_cannot_start);
}

static void a_line_of_a_log_says_what_it_complains_of(void **state)
{
    static const struct {
        const char *line, *complaint;
    } CASES[] = {
        {"2026-01-31T12:00:00.123Z error trainer \"run failed\" run=7 error=\"no \"GPU\" here\"",
         "no \"GPU\" here"},
        {"x error=\"", ""},
        {"x error=\"cut sho", "cut sho"},
        {"ValueError: \"x\"", "ValueError: \"x\""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_true(weir_bytes_equal(orchestrator_log_complaint(CASES[i].line),
                                     weir_bytes_of(CASES[i].complaint)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_killed_child_is_started_again_after_a_growing_pause,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_is_bounded_while_its_program_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_of_another_name_goes_on_in_another_log, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(children_stop_in_the_reverse_order_of_their_stages, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_child_that_ignores_the_request_to_stop_is_killed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_ends_for_good_leaves_no_process_of_its_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_program_that_is_not_there_is_named, setup, teardown),
        cmocka_unit_test(a_line_of_a_log_says_what_it_complains_of),
    };
    return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
