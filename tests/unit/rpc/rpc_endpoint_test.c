/* Binding: taken, stale, impossible and system-chosen endpoints. */
#include "tests/unit/rpc/rpc_fixture.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void an_endpoint_in_use_is_not_taken_over(void **state)
{
    struct fixture *fixture = *state;
    struct weir_rpc_server *second = NULL;
    struct weir_error err;
    char expected[500];
    assert_int_equal(
        weir_rpc_serve(fixture->loop, fixture->endpoint, SERVED, fixture, &second, &err), WEIR_IO);
    snprintf(expected, sizeof(expected),
             "socket %s is in use by another process: stop that, or use another directory",
             fixture->endpoint + strlen("ipc://"));
    assert_string_equal(err.text, expected);
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done); /* the first one still answers */
}

static void the_socket_file_of_a_dead_process_is_no_obstacle(void **state)
{
    struct fixture *fixture = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct weir_rpc_server *second = NULL;
    struct weir_error err;
    char endpoint[400];
    snprintf(endpoint, sizeof(endpoint), "ipc://%s/dead.sock", fixture->dir.path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/dead.sock", fixture->dir.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    close(fd); /* the file stays behind, as after kill -9 */
    assert_int_equal(weir_rpc_serve(fixture->loop, endpoint, SERVED, fixture, &second, &err),
                     WEIR_OK);
    weir_rpc_server_close(second);
}

static void an_impossible_endpoint_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct weir_rpc_server *second = NULL;
    struct weir_error err;
    char longer[200] = "ipc:///tmp/";
    memset(longer + strlen(longer), 'x', 150);
    assert_int_equal(weir_rpc_serve(fixture->loop, longer, SERVED, fixture, &second, &err),
                     WEIR_IO);
    assert_non_null(strstr(err.text, "the path has 155 characters, at most 107 are possible"));
    assert_int_equal(
        weir_rpc_serve(fixture->loop, "ipc:///nowhere/x.sock", SERVED, fixture, &second, &err),
        WEIR_IO);
    assert_string_equal(err.text,
                        "cannot listen on ipc:///nowhere/x.sock: No such file or directory");
    assert_int_equal(weir_rpc_serve(fixture->loop, "nonsense", SERVED, fixture, &second, &err),
                     WEIR_IO);
    assert_non_null(strstr(err.text, "cannot listen on nonsense"));
}

static void a_port_chosen_by_the_system_is_told(void **state)
{
    struct fixture *fixture = *state;
    WEIR_AUTO(weir_rpc_server) second = NULL;
    struct weir_error err;
    assert_int_equal(
        weir_rpc_serve(fixture->loop, "tcp://127.0.0.1:*", SERVED, fixture, &second, &err),
        WEIR_OK);
    assert_int_equal(strncmp(weir_rpc_endpoint(second), "tcp://127.0.0.1:", 16), 0);
    assert_null(strchr(weir_rpc_endpoint(second), '*'));
}

static void nothing_leaves_the_host_without_keys(void **state)
{
    static const char *const OUTSIDE[] = {
        "tcp://*:*",         "tcp://0.0.0.0:*",   "tcp://10.0.0.1:5000", "tcp://eth0:*",
        "tcp://[::]:*",      "tcp://localhost:*", "tcp://127.0.0.1",     "tcp://",
        "tcp://128.0.0.1:*", "tipc://{5560,0}",   "norm://10.0.0.1"};
    static const char *const INSIDE[] = {"tcp://127.0.0.1:*", "tcp://127.9.9.9:80", "tcp://[::1]:*",
                                         "ipc:///run/x.sock", "inproc://x"};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < WEIR_COUNT(OUTSIDE); i++) {
        struct weir_rpc_server *server = NULL;
        struct weir_rpc_peer *peer = NULL;
        struct weir_error err;
        assert_int_equal(weir_rpc_serve(fixture->loop, OUTSIDE[i], SERVED, fixture, &server, &err),
                         WEIR_UNSUPPORTED);
        assert_int_equal(weir_rpc_connect(fixture->loop, OUTSIDE[i], NULL, NULL, &peer, &err),
                         WEIR_UNSUPPORTED);
        assert_non_null(strstr(err.text, OUTSIDE[i]));
        assert_non_null(strstr(err.text, "expected a loopback address, such as tcp://127.0.0.1:*"));
    }
    for (size_t i = 0; i < WEIR_COUNT(INSIDE); i++)
        assert_int_equal(weir_rpc_check_endpoint(INSIDE[i], NULL), WEIR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IPC(an_endpoint_in_use_is_not_taken_over),
        IPC(the_socket_file_of_a_dead_process_is_no_obstacle),
        IPC(an_impossible_endpoint_is_named),
        INPROC(a_port_chosen_by_the_system_is_told),
        INPROC(nothing_leaves_the_host_without_keys),
    };
    return cmocka_run_group_tests_name("rpc_endpoint", tests, NULL, NULL);
}
