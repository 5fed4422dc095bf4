/* A service that is reached from elsewhere, as a process: the pair that it keeps, passes and keys, and what becomes
 * of it among crowds of strangers, and under a flood from somebody who has a key. */
#include "core/base/memory.h"
#include "core/rpc/pass.h"
#include "core/service/service.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"
#include "tests/support/process_memory.h"
#include "tests/support/temp_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

/* Sanitizers keep what is freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { ANNA, BEN, PEOPLE, ANSWER_MS = 60000, SHORT_MS = 300, OUTPUT_MAX = 1 << 20, MIB = 1 << 20 };

static const char PROGRAM[] = WEIR_TEST_BIN_DIR "/echo_service";
static const char *const NAMES[PEOPLE] = {"anna", "ben"};

struct lab {
    struct temp_dir dir;
    char *sockets, *log;
    pid_t pid;
    char *address; /* of the service, with its key */
    struct weir_pair pair[PEOPLE];
    struct weir_loop *loop;
    struct weir_rpc_peer *local, *anna;
    struct weir_arena *arena;
    struct weir_error err;
};

static void log_to(const void *argument)
{
    const struct lab *lab = argument;
    int fd = open(lab->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
}

static char *said(const struct lab *lab)
{
    char *text = weir_calloc(1, OUTPUT_MAX);
    WEIR_AUTO_FD int fd = open(lab->log, O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    for (ssize_t got; (got = read(fd, text + size, OUTPUT_MAX - 1 - size)) > 0;)
        size += (size_t)got;
    return text;
}

static void start(struct lab *lab, const char *remote)
{
    const char *const argv[] = {PROGRAM,  "--data-dir", lab->dir.path, "--socket-dir", lab->sockets,
                                "--name", "echo",       "--remote",    remote,         NULL};
    lab->pid = child_start(argv, log_to, lab);
    char *text = NULL;
    do {
        free(text);
        text = said(lab);
        weir_loop_step(lab->loop, 1);
        assert_int_equal(waitpid(lab->pid, NULL, WNOHANG), 0);
    } while (strstr(text, "\"ready\"") == NULL);
    const char *address = strstr(text, "address=") + strlen("address=");
    free(lab->address);
    lab->address = weir_strndup(address, strcspn(address, "\n"));
    free(text);
}

static void stop(struct lab *lab)
{
    int how;
    kill(lab->pid, SIGTERM);
    assert_int_equal(waitpid(lab->pid, &how, 0), lab->pid);
    assert_int_equal(how, 0);
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->dir);
    lab->sockets = weir_format("%s/run", lab->dir.path);
    lab->log = weir_format("%s/log", lab->dir.path);
    lab->loop = weir_loop_new();
    lab->arena = weir_arena_new();
    for (size_t i = 0; i < PEOPLE; i++)
        assert_int_equal(weir_pair_draw(&lab->pair[i], &lab->err), WEIR_OK);
    start(lab, "tcp://127.0.0.1:*");
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(lab->sockets, "echo");
    assert_int_equal(weir_rpc_connect(lab->loop, endpoint, NULL, NULL, &lab->local, &lab->err),
                     WEIR_OK);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    weir_rpc_peer_close(lab->anna);
    weir_rpc_peer_close(lab->local);
    stop(lab);
    weir_loop_free(lab->loop);
    weir_arena_free(lab->arena);
    temp_dir_remove(&lab->dir);
    free(lab->address);
    free(lab->sockets);
    free(lab->log);
    free(lab);
    return 0;
}

static void set_keys(struct lab *lab, const struct msg_keys_set *keys)
{
    struct msg_keys_noted noted = {0};
    assert_int_equal(weir_rpc_request(lab->local, MSG_keys_set, keys, ANSWER_MS, MSG_keys_noted,
                                      lab->arena, &noted, &lab->err),
                     WEIR_OK);
    assert_int_equal(noted.number, keys->number);
}

static void let_in(struct lab *lab, uint64_t number, uint32_t anna, uint32_t ben)
{
    const char *publics[PEOPLE], *names[PEOPLE], *const tenants[PEOPLE] = {"", ""};
    uint32_t roles[PEOPLE];
    const uint32_t all[PEOPLE] = {anna, ben};
    size_t count = 0;
    for (size_t i = 0; i < PEOPLE; i++) {
        if (all[i] == 0)
            continue;
        publics[count] = lab->pair[i].public;
        names[count] = NAMES[i];
        roles[count++] = all[i];
    }
    set_keys(lab, &(struct msg_keys_set){
                      number, {publics, count}, {names, count}, {roles, count}, {tenants, count}});
}

/* Anna's peer, by a pass of hers, as programs elsewhere connect. */
static void connect_anna(struct lab *lab, enum weir_role role)
{
    char path[400], name[] = "anna";
    snprintf(path, sizeof(path), "%s/anna.key", lab->dir.path);
    (void)unlink(path);
    const struct weir_pass pass = {
        .platform = lab->address, .name = name, .role = role, .pair = lab->pair[ANNA]};
    assert_int_equal(weir_pass_write(path, &pass, &lab->err), WEIR_OK);
    const struct weir_service_options options = {.key = path};
    assert_int_equal(weir_service_connect(&options, "orchestrator", lab->loop, NULL, NULL,
                                          &lab->anna, &lab->err),
                     WEIR_OK);
}

static enum weir_status command(struct lab *lab, struct weir_rpc_peer *peer, int64_t deadline_ms)
{
    const struct msg_command ask = {.topic = "t", .arguments = "{\"a\": 1}"};
    struct msg_answer answer = {0};
    enum weir_status status = weir_rpc_request(peer, MSG_command, &ask, deadline_ms, MSG_answer,
                                               lab->arena, &answer, &lab->err);
    if (status == WEIR_OK)
        assert_string_equal(answer.json, "{\"a\": 1}");
    weir_arena_clear(lab->arena);
    return status;
}

/* ---- keys ---- */

static void nobody_is_let_in_before_there_are_keys_and_whoever_has_one_then(void **state)
{
    struct lab *lab = *state;
    connect_anna(lab, WEIR_ROLE_OPERATOR);
    assert_int_equal(command(lab, lab->anna, SHORT_MS), WEIR_TIMEOUT);
    let_in(lab, 1, WEIR_ROLE_OPERATOR, 0);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    assert_int_equal(command(lab, lab->local, ANSWER_MS), WEIR_OK);
}

static void a_key_without_the_role_and_one_that_is_revoked_are_refused_in_words(void **state)
{
    struct lab *lab = *state;
    const struct msg_keys_set keys = {.number = 9};
    struct msg_keys_noted noted;
    let_in(lab, 1, WEIR_ROLE_WORKER, 0);
    connect_anna(lab, WEIR_ROLE_WORKER);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_DENIED);
    assert_non_null(strstr(lab->err.text, "is not for a worker to send"));
    let_in(lab, 2, WEIR_ROLE_OPERATOR, 0);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    assert_int_equal(weir_rpc_request(lab->anna, MSG_keys_set, &keys, ANSWER_MS, MSG_keys_noted,
                                      lab->arena, &noted, &lab->err),
                     WEIR_DENIED);
    let_in(lab, 3, 0, WEIR_ROLE_OPERATOR);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_DENIED);
    assert_non_null(strstr(lab->err.text, "does not let this key in"));
    WEIR_AUTO_FREE char *text = said(lab);
    assert_non_null(strstr(text, "message=command role=worker name=anna"));
    assert_non_null(strstr(text, "message=keys_set role=operator name=anna"));
    assert_non_null(strstr(text, "message=handshake role=none"));
    assert_null(strstr(text, lab->pair[ANNA].secret));
}

static void the_pair_is_the_owners_alone_and_outlives_the_process(void **state)
{
    struct lab *lab = *state;
    struct stat about;
    WEIR_AUTO_FREE char *path = weir_service_pair_path(lab->dir.path);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    let_in(lab, 1, WEIR_ROLE_OPERATOR, 0);
    connect_anna(lab, WEIR_ROLE_OPERATOR);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    WEIR_AUTO_FREE char *before = weir_strdup(lab->address);
    WEIR_AUTO_FREE char *endpoint = weir_strndup(before, strcspn(before, "#"));
    stop(lab);
    start(lab, endpoint);
    assert_string_equal(lab->address, before);
    assert_int_equal(command(lab, lab->anna, SHORT_MS), WEIR_TIMEOUT); /* no list yet */
    let_in(lab, 1, WEIR_ROLE_OPERATOR, 0);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
}

/* ---- many with keys ---- */

enum { MANY = 200 };

struct many {
    struct lab *lab;
    struct weir_pair pair[MANY];
    struct weir_rpc_peer *peer[MANY];
    size_t answered, denied, others;
};

static void on_told(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct many *many = owner;
    if (reply != NULL)
        many->answered++;
    else if (err->status == WEIR_DENIED)
        many->denied++;
    else
        many->others++;
}

/* All ask at once. */
static void ask_all(struct many *many)
{
    const struct msg_command ask = {.topic = "t", .arguments = "{}"};
    many->answered = many->denied = many->others = 0;
    for (size_t i = 0; i < MANY; i++)
        weir_rpc_call(many->peer[i], MSG_command, &ask, ANSWER_MS, on_told, many);
}

static void await_all(struct many *many)
{
    while (many->answered + many->denied + many->others < MANY)
        weir_loop_step(many->lab->loop, SHORT_MS);
}

/* Lets in all from the `first` on. */
static void let_many_in(struct many *many, uint64_t number, size_t first)
{
    struct lab *lab = many->lab;
    const char *publics[MANY], *names[MANY], *tenants[MANY];
    uint32_t roles[MANY];
    size_t count = MANY - first;
    for (size_t i = 0; i < count; i++) {
        publics[i] = many->pair[first + i].public;
        names[i] = "worker";
        tenants[i] = "";
        roles[i] = WEIR_ROLE_OPERATOR;
    }
    set_keys(lab, &(struct msg_keys_set){
                      number, {publics, count}, {names, count}, {roles, count}, {tenants, count}});
}

static struct rlimit raise_descriptors(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit;
}

static void everybody_comes_back_after_a_restart_but_who_was_revoked_meanwhile(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE struct many *many = weir_calloc(1, sizeof(*many));
    WEIR_AUTO_FREE char *endpoint = weir_strndup(lab->address, strcspn(lab->address, "#"));
    (void)raise_descriptors();
    many->lab = lab;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(weir_pair_draw(&many->pair[i], &lab->err), WEIR_OK);
        assert_int_equal(weir_rpc_connect_as(lab->loop, lab->address, &many->pair[i], NULL, NULL,
                                             &many->peer[i], &lab->err),
                         WEIR_OK);
    }
    let_many_in(many, 1, 0);
    ask_all(many);
    await_all(many);
    size_t answered_before = many->answered;
    assert_int_equal(kill(lab->pid, SIGKILL), 0);
    assert_int_equal(waitpid(lab->pid, NULL, 0), lab->pid);
    ask_all(many);
    start(lab, endpoint);
    let_many_in(many, 2, 1);
    await_all(many);
    for (size_t i = 0; i < MANY; i++)
        weir_rpc_peer_close(many->peer[i]);
    assert_int_equal(answered_before, MANY);
    assert_int_equal(many->answered, MANY - 1);
    assert_int_equal(many->denied, 1);
}

/* ---- strangers ---- */

static int enter(const struct lab *lab)
{
    const char *port = strchr(lab->address + strlen("tcp:"), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static const uint8_t GREETING[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,   0,
                                     0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E', 0};

/* As many as descriptors allow stop somewhere in the handshake: at nothing, within the greeting, behind it, within the
 * first command, and within one that would be long. */
static size_t crowd_in(const struct lab *lab, int *held, size_t most)
{
    static const uint8_t HELLO[] = {4, 200, 5, 'H', 'E', 'L', 'L', 'O', 1, 0};
    static const uint8_t LONG[] = {6, 0, 0, 0, 0, 0, 0, 0x08, 0}; /* 2 KiB, of which few come */
    size_t count = 0;
    for (; count < most && (held[count] = enter(lab)) >= 0; count++) {
        int fd = held[count];
        if (count % 5 >= 1)
            (void)send(fd, GREETING, count % 5 == 1 ? 30 : sizeof(GREETING), MSG_NOSIGNAL);
        if (count % 5 == 3)
            (void)send(fd, HELLO, sizeof(HELLO), MSG_NOSIGNAL);
        if (count % 5 == 4)
            (void)send(fd, LONG, sizeof(LONG), MSG_NOSIGNAL);
    }
    return count;
}

static void half_open_connections_cost_little_and_disturb_nobody(void **state)
{
    enum { SPARE = 200, COST_KB = 16 };
    struct lab *lab = *state;
    struct rlimit limit = raise_descriptors();
    size_t most = (size_t)(limit.rlim_max < 10000 + SPARE ? limit.rlim_max - SPARE : 10000);
    int *held = weir_calloc(most, sizeof(*held));
    let_in(lab, 1, WEIR_ROLE_OPERATOR, 0);
    connect_anna(lab, WEIR_ROLE_OPERATOR);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    long before_kb = process_memory_kb(lab->pid, "VmRSS:");
    size_t count = crowd_in(lab, held, most);
    for (int i = 0; i < 100; i++)
        assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    long more_kb = process_memory_kb(lab->pid, "VmHWM:") - before_kb;
    print_message("%zu connections that say no more: %ld MiB\n", count, more_kb / 1024);
    assert_true(count == most);
    assert_true(SANITIZED || more_kb < (long)count * COST_KB + 16 * 1024);
    for (size_t i = 0; i < count; i++)
        close(held[i]);
    free(held);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
}

/* Nobody who is not let in has memory taken for a frame that is announced. */
static void a_handshake_that_is_too_long_is_cut(void **state)
{
    static const uint8_t MUCH[] = {6, 0, 0, 0, 0, 1, 0, 0, 0}; /* 16 MiB */
    struct lab *lab = *state;
    uint8_t bytes[200];
    int fd = enter(lab);
    assert_int_equal(send(fd, GREETING, sizeof(GREETING), MSG_NOSIGNAL), sizeof(GREETING));
    assert_int_equal(send(fd, MUCH, sizeof(MUCH), MSG_NOSIGNAL), sizeof(MUCH));
    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        ;
    close(fd);
    assert_int_equal(command(lab, lab->local, ANSWER_MS), WEIR_OK);
}

/* ---- floods ---- */

static void *enter_as(const struct lab *lab, int who)
{
    static const int NOW = 0;
    const struct weir_pair *pair = &lab->pair[who];
    WEIR_AUTO_FREE char *endpoint = weir_strndup(lab->address, strcspn(lab->address, "#"));
    const char *key = strchr(lab->address, '#') + 1;
    void *socket = zmq_socket(weir_loop_zmq(lab->loop), ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &NOW, sizeof(NOW)), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key, 41), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, 41), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, 41), 0);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

/* Messages of many frames without an end, from somebody who has a key. */
static void a_flood_under_a_key_is_bounded_and_disturbs_nobody(void **state)
{
    enum { FRAMES = 600, BOUND = 192 * MIB };
    static uint8_t frame[MIB];
    struct lab *lab = *state;
    let_in(lab, 1, WEIR_ROLE_OPERATOR, WEIR_ROLE_OPERATOR);
    connect_anna(lab, WEIR_ROLE_OPERATOR);
    assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    long before_kb = process_memory_kb(lab->pid, "VmRSS:");
    void *flood = enter_as(lab, BEN);
    for (int i = 0; i < FRAMES; i++) {
        (void)zmq_send(flood, frame, sizeof(frame), ZMQ_SNDMORE | ZMQ_DONTWAIT);
        if (i % 50 == 0)
            assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    }
    (void)zmq_send(flood, frame, 1, ZMQ_DONTWAIT);
    for (int i = 0; i < 50; i++)
        assert_int_equal(command(lab, lab->anna, ANSWER_MS), WEIR_OK);
    long more_kb = process_memory_kb(lab->pid, "VmHWM:") - before_kb;
    print_message("a flood of %d MiB: %ld MiB\n", FRAMES, more_kb / 1024);
    assert_true(SANITIZED || more_kb < BOUND / 1024);
    zmq_close(flood);
}

int main(void)
{
#define ELSEWHERE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ELSEWHERE(nobody_is_let_in_before_there_are_keys_and_whoever_has_one_then),
        ELSEWHERE(a_key_without_the_role_and_one_that_is_revoked_are_refused_in_words),
        ELSEWHERE(the_pair_is_the_owners_alone_and_outlives_the_process),
        ELSEWHERE(everybody_comes_back_after_a_restart_but_who_was_revoked_meanwhile),
        ELSEWHERE(half_open_connections_cost_little_and_disturb_nobody),
        ELSEWHERE(a_handshake_that_is_too_long_is_cut),
        ELSEWHERE(a_flood_under_a_key_is_bounded_and_disturbs_nobody),
    };
    return cmocka_run_group_tests_name("elsewhere", tests, NULL, NULL);
}
