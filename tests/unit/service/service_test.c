/* A service as its users meet it: a process with options, an endpoint, signals and exit codes. */
#include "core/base/memory.h"
#include "core/service/service.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ANSWER_MS = 30000, ARGUMENTS_MAX = 12, OUTPUT_MAX = 8192 };

static const char PROGRAM[] = WEIR_TEST_BIN_DIR "/echo_service";

struct fixture {
    struct temp_dir dir;
    char sockets[300];
    char output[OUTPUT_MAX]; /* of the newest run, stdout and stderr */
    pid_t pid;
    int out;
};

static int set_up(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    temp_dir_make(&fixture->dir);
    snprintf(fixture->sockets, sizeof(fixture->sockets), "%s/run", fixture->dir.path);
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

static void print_to(const void *argument)
{
    const int *ends = argument;
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
}

static void start(struct fixture *fixture, const char *const words[ARGUMENTS_MAX])
{
    const char *argv[ARGUMENTS_MAX + 2] = {PROGRAM};
    int ends[2];
    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 1] = words[i];
    assert_int_equal(pipe(ends), 0);
    fixture->pid = child_start(argv, print_to, ends);
    close(ends[1]);
    fixture->out = ends[0];
    fixture->output[0] = '\0';
}

/* Reads until `wanted` was written, or the program has ended. */
static void read_until(struct fixture *fixture, const char *wanted)
{
    size_t size = strlen(fixture->output);
    ssize_t got = 1;
    while (got > 0 && (wanted == NULL || strstr(fixture->output, wanted) == NULL)) {
        got = read(fixture->out, fixture->output + size, OUTPUT_MAX - 1 - size);
        size += got > 0 ? (size_t)got : 0;
        fixture->output[size] = '\0';
    }
}

/* Its exit code. */
static int wait_for_end(struct fixture *fixture)
{
    int status = 0;
    read_until(fixture, NULL);
    close(fixture->out);
    assert_int_equal(waitpid(fixture->pid, &status, 0), fixture->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int run(struct fixture *fixture, const char *const words[ARGUMENTS_MAX])
{
    start(fixture, words);
    return wait_for_end(fixture);
}

static void start_serving(struct fixture *fixture, const char *name)
{
    const char *const words[ARGUMENTS_MAX] = {"--data-dir",     fixture->dir.path, "--socket-dir",
                                              fixture->sockets, "--name",          name};
    start(fixture, words);
    read_until(fixture, "\"ready\"");
    assert_non_null(strstr(fixture->output, "\"ready\""));
}

struct client {
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_arena *arena;
};

static void open_client(struct client *client, const char *sockets, const char *name)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(sockets, name);
    client->loop = weir_loop_new();
    client->arena = weir_arena_new();
    assert_int_equal(weir_rpc_connect(client->loop, endpoint, NULL, NULL, &client->peer, &err),
                     WEIR_OK);
}

static void close_client(struct client *client)
{
    weir_rpc_peer_close(client->peer);
    weir_loop_free(client->loop);
    weir_arena_free(client->arena);
}

static void a_service_answers_health_by_itself_and_others_by_its_table(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct weir_error err;
    struct msg_health_is health = {0};
    struct msg_answer answer = {0};
    struct msg_command ask = {.topic = "t", .arguments = "{\"a\": 1}"};
    start_serving(fixture, "echo-2");
    open_client(&client, fixture->sockets, "echo-2");
    assert_int_equal(weir_rpc_request(client.peer, MSG_health, &health, ANSWER_MS, MSG_health_is,
                                      client.arena, &health, &err),
                     WEIR_OK);
    assert_string_equal(health.name, "echo-2");
    assert_true(health.session != 0);
    assert_true(health.up_ms >= 0 && health.cpu_ns > 0);
    assert_int_equal(weir_rpc_request(client.peer, MSG_command, &ask, ANSWER_MS, MSG_answer,
                                      client.arena, &answer, &err),
                     WEIR_OK);
    assert_string_equal(answer.json, "{\"a\": 1}");
    assert_int_equal(weir_rpc_request(client.peer, MSG_workers_request, &ask, ANSWER_MS, MSG_answer,
                                      client.arena, &answer, &err),
                     WEIR_UNSUPPORTED);
    assert_int_equal(weir_rpc_request(client.peer, MSG_health, &ask, ANSWER_MS, MSG_answer,
                                      client.arena, &answer, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "answered with health_is, expected answer"));
    close_client(&client);
    kill(fixture->pid, SIGTERM);
    assert_int_equal(wait_for_end(fixture), 0);
}

static void trainers_have_a_socket_apart_that_serves_what_is_theirs(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct weir_error err;
    struct msg_health_is health = {0};
    struct stat about;
    WEIR_AUTO_FREE char *sockets = weir_service_trainer_dir(fixture->sockets);
    start_serving(fixture, "echo");
    assert_int_equal(stat(sockets, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    open_client(&client, sockets, "echo");
    assert_int_equal(weir_rpc_request(client.peer, MSG_wipe, &(struct msg_wipe){0}, ANSWER_MS,
                                      MSG_wiped, client.arena, &health, &err),
                     WEIR_DENIED);
    assert_int_equal(weir_rpc_request(client.peer, MSG_hold, &(struct msg_hold){0}, ANSWER_MS,
                                      MSG_hold_is, client.arena, &health, &err),
                     WEIR_UNSUPPORTED); /* this service has no handler for it */
    close_client(&client);
    kill(fixture->pid, SIGTERM);
    assert_int_equal(wait_for_end(fixture), 0);
    assert_non_null(strstr(fixture->output, "a message is refused: its sender may not send it"));
}

static void both_signals_stop_it_in_order(void **state)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < WEIR_COUNT(SIGNALS); i++) {
        start_serving(fixture, "echo");
        kill(fixture->pid, SIGNALS[i]);
        assert_int_equal(wait_for_end(fixture), 0);
        assert_non_null(strstr(fixture->output, "\"stopping\" signal="));
    }
}

static void a_second_one_on_the_same_endpoint_fails_and_says_so(void **state)
{
    struct fixture *fixture = *state;
    struct fixture second = *fixture;
    const char *const words[ARGUMENTS_MAX] = {"--data-dir", fixture->dir.path, "--socket-dir",
                                              fixture->sockets};
    start_serving(fixture, "echo");
    assert_int_equal(run(&second, words), 1);
    assert_non_null(strstr(second.output, "\"cannot start\" error=\"socket "));
    assert_non_null(strstr(second.output, " is in use by another process"));
    kill(fixture->pid, SIGTERM);
    assert_int_equal(wait_for_end(fixture), 0);
}

static void a_service_that_cannot_open_exits_with_1(void **state)
{
    struct fixture *fixture = *state;
    const char *const words[ARGUMENTS_MAX] = {"--data-dir",     fixture->dir.path, "--socket-dir",
                                              fixture->sockets, "--name",          "broken"};
    assert_int_equal(run(fixture, words), 1);
    assert_non_null(strstr(fixture->output, "error=\"the reed is broken\""));
}

static void bad_usage_exits_with_2_and_one_line(void **state)
{
    static const struct {
        const char *words[ARGUMENTS_MAX];
        const char *expected;
    } CASES[] = {
        {{NULL}, "echo: --data-dir is missing: expected the data directory\n"},
        {{"--data-dir", "x"}, "echo: --socket-dir is missing: it says where the sockets are\n"},
        {{"--nme", "x"}, "echo: unknown option --nme (did you mean --name?)\n"},
        {{"word"}, "echo: unexpected 'word': --help says how to call this\n"},
        {{"--log-level", "loud"},
         "echo: --log-level: expected debug, info, warn or error, found 'loud'\n"},
        {{"--check-config", "/nowhere.yaml"}, NULL},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        assert_int_equal(run(fixture, CASES[i].words), 2);
        if (CASES[i].expected != NULL)
            assert_string_equal(fixture->output, CASES[i].expected);
    }
}

static void a_file_is_checked_printed_and_described(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    char good[300], bad[300], expected[500];
    snprintf(good, sizeof(good), "%s/good.yaml", fixture->dir.path);
    snprintf(bad, sizeof(bad), "%s/bad.yaml", fixture->dir.path);
    assert_int_equal(weir_file_write_atomic(good, weir_bytes_of("echo: {volume: 7}\n"), &err),
                     WEIR_OK);
    assert_int_equal(weir_file_write_atomic(bad, weir_bytes_of("echo: {volume: 12}\n"), &err),
                     WEIR_OK);
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--check-config", good}), 0);
    assert_string_equal(fixture->output, "");
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--check-config", bad}), 2);
    snprintf(expected, sizeof(expected),
             "%s:1:16: echo.volume: expected an integer <= 11, found '12'\n", bad);
    assert_string_equal(fixture->output, expected);
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--print-config", good}), 0);
    assert_string_equal(fixture->output, "echo:\n  volume: 7\n");
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--print-config", bad}), 2);
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--describe-config"}), 0);
    assert_non_null(strstr(fixture->output, "| `volume` | integer | `5` | <= 11 | how loud |"));
}

static void help_shows_options_and_an_example(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--help"}), 0);
    assert_non_null(strstr(fixture->output, "echo: says what it hears\n"));
    assert_non_null(strstr(fixture->output, "  --data-dir DIR       data directory\n"));
    assert_non_null(strstr(fixture->output, "example:\n  echo_service --data-dir .weir"));
    assert_int_equal(run(fixture, (const char *const[ARGUMENTS_MAX]){"--version"}), 0);
    assert_int_equal(strncmp(fixture->output, "echo (weir) 0.", 14), 0);
}

static void a_service_may_open_as_many_files_as_the_system_lets_it(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit before, few, found;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    start_serving(fixture, "echo-1");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(prlimit(fixture->pid, RLIMIT_NOFILE, NULL, &found), 0);
    assert_int_equal(kill(fixture->pid, SIGTERM), 0);
    assert_int_equal(wait_for_end(fixture), 0);
    assert_true(few.rlim_max > few.rlim_cur);
    assert_int_equal(found.rlim_cur, before.rlim_max);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_service_answers_health_by_itself_and_others_by_its_table),
        TEST(trainers_have_a_socket_apart_that_serves_what_is_theirs),
        TEST(both_signals_stop_it_in_order),
        TEST(a_second_one_on_the_same_endpoint_fails_and_says_so),
        TEST(a_service_that_cannot_open_exits_with_1),
        TEST(bad_usage_exits_with_2_and_one_line),
        TEST(a_file_is_checked_printed_and_described),
        TEST(help_shows_options_and_an_example),
        TEST(a_service_may_open_as_many_files_as_the_system_lets_it),
    };
#undef TEST
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
