/* exec: a program in a process of its own. What it makes is taken up; when it dies, hangs or talks nonsense, that costs
 * the row it cannot bear. The program is Python (exec_program.py): rows say what it is to do with them. */
#include "core/base/clock.h"
#include "core/base/jail.h"
#include "core/base/memory.h"
#include "core/service/programs.h"
#include "preprocess/operators/exec/program.h"
#include "tests/support/chain.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { ROWS = 40 };

#define PROGRAM WEIR_SOURCE_DIR "/tests/unit/preprocess/exec_program.py"
#define DENSE   "[{op: exec, program: numbers, width: 2, name: x}]"

static void allow(const char *more)
{
    WEIR_AUTO_FREE char *text =
        weir_format("{numbers: {command: [/usr/bin/python3, " PROGRAM "], %s},"
                    " upper: {command: [/usr/bin/python3, " PROGRAM ", text]},"
                    " backwards: {command: [/usr/bin/python3, " PROGRAM ", ragged]},"
                    " gone: {command: [/no/such/program]}}",
                    more);
    (void)setenv("WEIR_PROGRAMS", text, 1);
}

/* Runs the chain until it waits for nothing. */
static void run(struct test_chain *test, const char *const *texts, size_t count)
{
    struct weir_bytes rows[ROWS];
    uint64_t ids[ROWS];
    for (size_t i = 0; i < count; i++) {
        rows[i] = weir_bytes_of(texts[i]);
        ids[i] = 1000 + i;
    }
    do {
        test_chain_fill(test, rows, count);
        test->failed =
            preprocess_chain_run(test->chain, &(struct operator_batch){.rows = count, .ids = ids});
    } while (preprocess_chain_waits(test->chain));
}

/* All rows but `bad` (SIZE_MAX: none) are their length and their first byte. */
static void expect_rows(const struct test_chain *test, const char *const *texts, size_t count,
                        size_t bad)
{
    const float *x = test_chain_floats(test, 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(test->failed[i], i == bad ? OPERATOR_ROW_FAILED : OPERATOR_ROW_OK);
        if (i == bad)
            continue;
        assert_true(x[2 * i] == (float)strlen(texts[i]));
        assert_true(x[2 * i + 1] == (float)texts[i][0]);
    }
}

static const char *reason_of(const struct test_chain *test)
{
    const struct operator_failures *failures = preprocess_chain_failures(test->chain);
    assert_int_equal(failures->count, 1);
    return failures->of[0].reason;
}

static void fill(const char *texts[ROWS], size_t bad, const char *what)
{
    static const char *const GOOD[] = {"a", "bc", "some more", "x"};
    for (size_t i = 0; i < ROWS; i++)
        texts[i] = i == bad ? what : GOOD[i % WEIR_COUNT(GOOD)];
}

static void what_it_makes_is_taken_up(void **state)
{
    (void)state;
    const char *texts[ROWS];
    struct test_chain test = {0};
    allow("timeout: 20s");
    fill(texts, SIZE_MAX, NULL);
    test_chain_open(&test, DENSE);
    run(&test, texts, 7);
    expect_rows(&test, texts, 7, SIZE_MAX);
    run(&test, texts, ROWS);
    expect_rows(&test, texts, ROWS, SIZE_MAX);
    test_chain_close(&test);
}

static int64_t programs_ns(const struct test_chain *test)
{
    return preprocess_chain_cost(test->chain, 0).programs_ns;
}

static void its_cpu_time_is_counted_over_all_its_lives(void **state)
{
    (void)state;
    const char *texts[ROWS];
    struct test_chain test = {0};
    allow("timeout: 20s");
    fill(texts, SIZE_MAX, NULL);
    test_chain_open(&test, DENSE);
    assert_int_equal(programs_ns(&test), 0);
    run(&test, texts, ROWS);
    int64_t first_ns = programs_ns(&test);
    assert_true(first_ns > 0);
    fill(texts, 5, "!die");
    run(&test, texts, ROWS); /* started again */
    assert_true(programs_ns(&test) > first_ns);
    test_chain_close(&test);
}

static const struct {
    const char *row, *reason;
} BAD[] = {
    {"!die", "program numbers: it ended with exit code 3"},
    {"!complain", "program numbers: it ended with exit code 1: KeyError: 'wo?rd'"},
    {"!kill", "program numbers: it was ended by signal 9 (Killed)"},
    {"!nonsense", "program numbers: it did not answer in frames"},
    {"!half", "program numbers: it ended with exit code 4"},
    {"!fork", "program numbers: it ended with exit code 4"},
    {"!fewer", "program numbers: it answered"},
    {"!fail", "program numbers: as it was told?"},
    {"!memory", "program numbers: it ended with exit code 1: MemoryError"},
};

static void it_costs_the_row_that_it_cannot_bear(void **state)
{
    (void)state;
    allow("timeout: 20s, memory: 256MiB");
    for (size_t i = 0; i < WEIR_COUNT(BAD); i++) {
        const char *texts[ROWS];
        struct test_chain test = {0};
        size_t bad = (7 * i + 5) % ROWS;
        fill(texts, bad, BAD[i].row);
        test_chain_open(&test, DENSE);
        run(&test, texts, ROWS);
        expect_rows(&test, texts, ROWS, bad);
        if (strncmp(reason_of(&test), BAD[i].reason, strlen(BAD[i].reason)) != 0)
            fail_msg("found '%s', expected '%s'", reason_of(&test), BAD[i].reason);
        run(&test, texts, ROWS); /* and is not asked for again */
        expect_rows(&test, texts, ROWS, bad);
        test_chain_close(&test);
    }
}

/* It goes on, and the log of the worker does not grow with what it says. */
static void one_that_floods_its_standard_error_is_heard_within_bounds(void **state)
{
    (void)state;
    const char *texts[ROWS];
    struct test_chain test = {0};
    FILE *log = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_non_null(log);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    allow("timeout: 20s");
    fill(texts, 3, "flood");
    test_chain_open(&test, DENSE);
    run(&test, texts, ROWS);
    run(&test, texts, 4);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    expect_rows(&test, texts, 4, SIZE_MAX);
    test_chain_close(&test);
    assert_in_range(lseek(fileno(log), 0, SEEK_END), PROGRAM_WORDS_BYTES_MAX,
                    PROGRAM_WORDS_BYTES_MAX + 100);
    close(before);
    fclose(log);
}

static void one_that_hangs_is_not_waited_for(void **state)
{
    (void)state;
    const char *texts[ROWS];
    struct test_chain test = {0};
    struct weir_bytes rows[4];
    allow("timeout: 3s"); /* in which the other rows have to come, on a slow machine too */
    fill(texts, 2, "!hang");
    for (size_t i = 0; i < WEIR_COUNT(rows); i++)
        rows[i] = weir_bytes_of(texts[i]);
    test_chain_open(&test, DENSE);
    test_chain_run(&test, rows, WEIR_COUNT(rows));
    assert_true(preprocess_chain_waits(test.chain)); /* somebody else has a turn meanwhile */
    run(&test, texts, 4);
    expect_rows(&test, texts, 4, 2);
    assert_non_null(strstr(reason_of(&test), "it took longer than it may"));
    assert_true(preprocess_chain_cost(test.chain, 0).spent_ns >=
                INT64_C(3000000000)); /* though it took no CPU time */
    assert_int_equal(preprocess_chain_cost(test.chain, 0).bytes, 4 * 2 * sizeof(float));
    test_chain_close(&test);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left behind */
}

/* Counts the starts of a program that notes each in a file, as a letter. */
static size_t starts(const char *path)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    assert_int_equal(weir_file_read(path, 1 << 16, &text, &err), WEIR_OK);
    return text.size;
}

/* Five time-outs for a batch, ten for all: every row has failed by then, with a reason. */
static void a_program_that_always_hangs_costs_a_few_time_outs(void **state)
{
    const char *texts[ROWS];
    static const size_t STARTS[] = {5, 10, 10};
    struct test_chain test = {0};
    struct temp_dir dir;
    (void)state;
    temp_dir_make(&dir);
    const char *path = temp_path(&dir, "starts");
    WEIR_AUTO_FREE char *programs = weir_format(
        "{idle: {command: [/bin/sh, -c, 'printf x >> %s; sleep 1000'], timeout: 200ms}}", path);
    setenv("WEIR_PROGRAMS", programs, 1);
    fclose(fopen(path, "w")); /* it may run as another user */
    assert_int_equal(chmod(dir.path, 0711), 0);
    assert_int_equal(chmod(path, 0666), 0);
    fill(texts, SIZE_MAX, NULL);
    test_chain_open(&test, "[{op: exec, program: idle, width: 2}]");
    for (size_t batch = 0; batch < WEIR_COUNT(STARTS); batch++) {
        run(&test, texts, ROWS - batch); /* others than before */
        for (size_t i = 0; i < ROWS - batch; i++)
            assert_int_equal(test.failed[i], OPERATOR_ROW_FAILED);
        assert_in_range(starts(path), 0, STARTS[batch]); /* fewer: it starts slowly */
        assert_non_null(strstr(preprocess_chain_failures(test.chain)->of[0].reason,
                               batch == 0 ? "too much of the batch fails: it took longer"
                                          : "it has hung too often, and is given up"));
    }
    test_chain_close(&test);
    temp_dir_remove(&dir);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* The number that a program writes to a file as soon as it can. */
static pid_t wait_for_number(const char *path)
{
    int64_t deadline_ms = weir_now_ms() + 20000;
    for (;;) {
        WEIR_AUTO_BUF text = {0};
        struct weir_error err;
        assert_true(weir_now_ms() < deadline_ms);
        if (weir_file_read(path, 64, &text, &err) == WEIR_OK && text.size > 0) {
            weir_buf_append(&text, "", 1);
            return (pid_t)strtol((const char *)text.at, NULL, 10);
        }
    }
}

static bool is_alive(pid_t pid)
{
    WEIR_AUTO_FREE char *path = weir_format("/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "r");
    int first = file != NULL ? fgetc(file) : EOF; /* of one that is only not waited for: none */
    if (file != NULL)
        fclose(file);
    return first != EOF;
}

/* Runs rows one of which leaves a daemon; returns its number. */
static pid_t leave_daemon(struct test_chain *test, struct temp_dir *dir)
{
    const char *texts[ROWS];
    temp_dir_make(dir);
    assert_int_equal(chmod(dir->path, 0777), 0);
    const char *path = temp_path(dir, "daemon");
    WEIR_AUTO_FREE char *row = weir_format("!daemon %s", path);
    allow("timeout: 20s");
    fill(texts, 2, row);
    test_chain_open(test, DENSE);
    run(test, texts, 4);
    expect_rows(test, texts, 4, SIZE_MAX);
    pid_t daemon = wait_for_number(path);
    assert_true(is_alive(daemon));
    return daemon;
}

static void a_daemon_that_it_leaves_ends_with_it(void **state)
{
    (void)state;
    struct test_chain test = {0};
    struct temp_dir dir;
    pid_t daemon = leave_daemon(&test, &dir);
    preprocess_strays_end_of_the_dead(); /* of whom it is not */
    assert_true(is_alive(daemon));
    test_chain_close(&test);
    assert_false(is_alive(daemon));
    temp_dir_remove(&dir);
}

static void a_daemon_outlives_a_killed_worker_until_the_next_one_begins(void **state)
{
    (void)state;
    struct temp_dir dir;
    int report[2];
    pid_t daemon;
    assert_int_equal(pipe(report), 0);
    pid_t worker = fork();
    if (worker == 0) {
        struct test_chain test = {0};
        daemon = leave_daemon(&test, &dir);
        assert_int_equal(write(report[1], &daemon, sizeof(daemon)), sizeof(daemon));
        assert_int_equal(write(report[1], &dir, sizeof(dir)), sizeof(dir));
        pause();
    }
    assert_int_equal(read(report[0], &daemon, sizeof(daemon)), sizeof(daemon));
    assert_int_equal(read(report[0], &dir, sizeof(dir)), sizeof(dir));
    assert_int_equal(kill(worker, SIGKILL), 0);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
    assert_true(is_alive(daemon));
    preprocess_strays_end_of_the_dead();
    assert_false(is_alive(daemon));
    (void)close(report[0]);
    (void)close(report[1]);
    temp_dir_remove(&dir);
}

static void a_program_that_cannot_run_fails_all_rows(void **state)
{
    (void)state;
    const char *texts[ROWS];
    struct test_chain test = {0};
    allow("timeout: 20s");
    fill(texts, SIZE_MAX, NULL);
    test_chain_open(&test, "[{op: exec, program: gone, width: 2}]");
    run(&test, texts, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(test.failed[i], OPERATOR_ROW_FAILED);
    test_chain_close(&test);
}

/* The first jail of this process fails, as WEIR_FAULTS has it. */
static void a_program_whose_jail_cannot_be_made_is_not_started(void **state)
{
    (void)state;
    struct weir_allowed allowed;
    struct weir_error err;
    if (!weir_jail_is_possible())
        skip();
    allow("timeout: 20s");
    assert_int_equal(weir_programs_find("numbers", &allowed, &err), WEIR_OK);
    struct program program = {.allowed = &allowed};
    assert_int_equal(preprocess_program_request(&program, 1), PROGRAM_DIED);
    assert_int_equal(program.pid, 0);
    assert_string_equal(program.reason, "it was not started: its jail cannot be made");
    (void)preprocess_program_request(&program, 1);
    assert_true(program.pid > 0);
    preprocess_program_fini(&program);
    weir_allowed_fini(&allowed);
}

static void text_and_ragged_numbers_go_on_to_other_operators(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"ab c", "", "def"};
    struct test_chain test = {0};
    allow("timeout: 20s");
    test_chain_open(&test, "[{op: exec, program: upper, makes: text},"
                           " {op: exec, program: backwards, makes: ragged, type: i32}]");
    run(&test, TEXTS, WEIR_COUNT(TEXTS));
    const int32_t wanted[] = {'C', ' ', 'B', 'A',
                              'F', 'E', 'D'}; /* upper case, then the bytes backwards */
    assert_int_equal(preprocess_chain_output(test.chain, 0)->values.size, sizeof(wanted));
    assert_memory_equal(test_chain_ints(&test, 0), wanted, sizeof(wanted));
    test_chain_close(&test);
}

static void expect_refused(const char *operators, const char *why)
{
    struct weir_error err = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(operators), &document, &err), WEIR_OK);
    assert_int_equal(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err),
                     WEIR_INVALID);
    if (strstr(err.text, why) == NULL)
        fail_msg("found '%s', expected '%s'", err.text, why);
}

static void what_is_not_allowed_is_refused_with_its_place(void **state)
{
    (void)state;
    allow("timeout: 20s");
    expect_refused(
        "[{op: exec, program: other}]",
        "p.yaml:1:2: preprocess.operators: exec: program 'other' is not allowed: expected "
        "one of those that `programs` of the system file names, or that `orchestrator run "
        "--program` gives to one run: numbers, upper, backwards, gone");
    expect_refused("[{op: json_fields, fields: [a]}, {op: standardize}, {op: exec, program: gone}]",
                   "stands behind an operator that is fitted");
    (void)setenv("WEIR_PROGRAMS", "{}", 1);
    expect_refused("[{op: exec, program: numbers}]", "one run: none");
}

static void the_section_is_checked_with_its_place(void **state)
{
    (void)state;
    static const char *const WRONG[][2] = {
        {"programs: {a: {command: [python3]}}", "found 'python3', expected an absolute path"},
        {"programs: {a: {comand: [/bin/x]}}", "command"},
        {"programs: [a]", "expected NAME: {command"},
        {"programs: {a: {command: [/bin/x], timeout: 1us}}", "timeout"},
    };
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++) {
        struct weir_error err = {0};
        WEIR_AUTO(weir_yaml) document = NULL;
        assert_int_equal(
            weir_yaml_parse("system.yaml", weir_bytes_of(WRONG[i][0]), &document, &err), WEIR_OK);
        const struct weir_yaml_node *root = weir_yaml_root(document);
        assert_int_equal(weir_programs_check(weir_yaml_get(root, "programs"), &err), WEIR_INVALID);
        if (strstr(err.text, WRONG[i][1]) == NULL || strstr(err.text, "system.yaml:1:") == NULL)
            fail_msg("found '%s', expected '%s'", err.text, WRONG[i][1]);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);                   /* as every service does */
    (void)setenv("WEIR_FAULTS", "jail.prepare=1", 1); /* for the first test */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_whose_jail_cannot_be_made_is_not_started),
        cmocka_unit_test(what_it_makes_is_taken_up),
        cmocka_unit_test(its_cpu_time_is_counted_over_all_its_lives),
        cmocka_unit_test(it_costs_the_row_that_it_cannot_bear),
        cmocka_unit_test(one_that_floods_its_standard_error_is_heard_within_bounds),
        cmocka_unit_test(one_that_hangs_is_not_waited_for),
        cmocka_unit_test(a_program_that_always_hangs_costs_a_few_time_outs),
        cmocka_unit_test(a_daemon_that_it_leaves_ends_with_it),
        cmocka_unit_test(a_daemon_outlives_a_killed_worker_until_the_next_one_begins),
        cmocka_unit_test(a_program_that_cannot_run_fails_all_rows),
        cmocka_unit_test(text_and_ragged_numbers_go_on_to_other_operators),
        cmocka_unit_test(what_is_not_allowed_is_refused_with_its_place),
        cmocka_unit_test(the_section_is_checked_with_its_place),
    };
    return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}
