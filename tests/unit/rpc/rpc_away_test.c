/* A peer with a key whose server is not there yet: it speaks to sockets of ZeroMQ's own, on a clock of the test. */
#include "core/base/memory.h"
#include "core/rpc/envelope.h"
#include "core/rpc/rpc.h"
#include "core/rpc/socket.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum {
    COPIES = 100,
    COPIES_MAX = 10, /* some are sent again once the server is there */
    STEPS = 100,
    SLOW_MS = 20 * WEIR_RPC_RESEND_MAX_MS,
};

struct lab {
    struct weir_loop *loop;
    int64_t now_ms;
    struct weir_pair own, anna;
    void *context, *socket;
    int holder; /* of its port; -1: none */
};

static int64_t now_of_test(void *owner)
{
    return ((const struct lab *)owner)->now_ms;
}

/* Binds in a context without a gate. */
static void serve(struct lab *lab, const char *endpoint)
{
    static const int NOW = 0, YES = 1;
    lab->context = zmq_ctx_new();
    lab->socket = zmq_socket(lab->context, ZMQ_ROUTER);
    assert_int_equal(zmq_setsockopt(lab->socket, ZMQ_LINGER, &NOW, sizeof(NOW)), 0);
    assert_int_equal(zmq_setsockopt(lab->socket, ZMQ_CURVE_SERVER, &YES, sizeof(YES)), 0);
    assert_int_equal(zmq_setsockopt(lab->socket, ZMQ_CURVE_SECRETKEY, lab->own.secret, 41), 0);
    assert_int_equal(zmq_bind(lab->socket, endpoint), 0);
}

static void stop(struct lab *lab)
{
    zmq_close(lab->socket);
    zmq_ctx_term(lab->context);
}

/* Returns an endpoint that nobody serves. Its port is held by a socket that does not listen: nobody else is given it,
 * and servers of this test, whose sockets may share an address, can bind it. */
static void find_endpoint(struct lab *lab, char endpoint[64])
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(here);
    const int yes = 1;
    lab->holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(lab->holder >= 0);
    assert_int_equal(setsockopt(lab->holder, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    assert_int_equal(bind(lab->holder, (struct sockaddr *)&here, size), 0);
    assert_int_equal(getsockname(lab->holder, (struct sockaddr *)&here, &size), 0);
    snprintf(endpoint, 64, "tcp://127.0.0.1:%u", ntohs(here.sin_port));
}

static struct weir_rpc_peer *connect_anna(struct lab *lab, const char *endpoint)
{
    WEIR_AUTO_FREE char *address = weir_format("%s#%s", endpoint, lab->own.public);
    struct weir_rpc_peer *peer = NULL;
    assert_int_equal(weir_rpc_connect_as(lab->loop, address, &lab->anna, NULL, NULL, &peer, NULL),
                     WEIR_OK);
    return peer;
}

static void step(struct lab *lab, int64_t ms)
{
    lab->now_ms += ms;
    weir_loop_step(lab->loop, 1);
}

/* False: none is there. */
static bool take_one(struct lab *lab, enum weir_message *ret_type)
{
    struct weir_envelope envelope;
    uint8_t name[WEIR_ROUTE_MAX], first[WEIR_ENVELOPE_BYTES], header[256];
    if (zmq_recv(lab->socket, name, sizeof(name), ZMQ_DONTWAIT) < 0)
        return false;
    assert_int_equal(zmq_recv(lab->socket, first, sizeof(first), 0), sizeof(first));
    assert_true(zmq_recv(lab->socket, header, sizeof(header), 0) >= 0);
    assert_int_equal(weir_envelope_unpack(weir_bytes(first, sizeof(first)), &envelope, NULL),
                     WEIR_OK);
    *ret_type = (enum weir_message)envelope.type;
    return true;
}

/* Returns the type of the next message; its clock goes on by `ms` at each step until then. */
static enum weir_message take(struct lab *lab, int64_t ms)
{
    enum weir_message type;
    while (!take_one(lab, &type))
        step(lab, ms);
    return type;
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    lab->holder = -1;
    lab->loop = weir_loop_new();
    lab->now_ms = weir_loop_clock_ms(lab->loop);
    weir_loop_use_clock(lab->loop, now_of_test, lab);
    assert_int_equal(weir_pair_draw(&lab->own, NULL), WEIR_OK);
    assert_int_equal(weir_pair_draw(&lab->anna, NULL), WEIR_OK);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    weir_loop_free(lab->loop);
    if (lab->holder >= 0)
        close(lab->holder);
    free(lab);
    return 0;
}

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)owner, (void)reply, (void)err;
}

static void a_request_waits_once_for_a_server_that_is_away(void **state)
{
    struct lab *lab = *state;
    const struct msg_credit credit = {.session = 1};
    char endpoint[64];
    find_endpoint(lab, endpoint);
    struct weir_rpc_peer *peer = connect_anna(lab, endpoint);
    weir_rpc_call(peer, MSG_health, NULL, INT32_MAX, on_done, NULL);
    for (int i = 0; i < COPIES; i++)
        step(lab, WEIR_RPC_RESEND_MS);
    serve(lab, endpoint);
    int copies = 0;
    while (take(lab, 1) == MSG_health)
        if (++copies == 1) /* all that waited has come before */
            weir_rpc_send(peer, MSG_credit, &credit);
    assert_in_range(copies, 1, COPIES_MAX);
    stop(lab);
    weir_rpc_peer_close(peer);
}

static void a_server_that_stands_and_is_slow_is_asked_ever_more_seldom(void **state)
{
    struct lab *lab = *state;
    char endpoint[64];
    enum weir_message type;
    int copies = 1;
    find_endpoint(lab, endpoint);
    serve(lab, endpoint);
    struct weir_rpc_peer *peer = connect_anna(lab, endpoint);
    weir_rpc_call(peer, MSG_health, NULL, INT32_MAX, on_done, NULL);
    assert_int_equal(take(lab, 0), MSG_health);
    for (int64_t ms = 0; ms < SLOW_MS; ms += SLOW_MS / STEPS) {
        step(lab, SLOW_MS / STEPS);
        copies += take_one(lab, &type);
    }
    const struct msg_credit credit = {.session = 1};
    weir_rpc_send(peer, MSG_credit, &credit);
    while (take(lab, 0) == MSG_health) /* those that were on their way */
        copies++;
    /* After 500 ms, 1 s, and each 2 s: a half or a whole of them may be told of at one step of the clock. */
    assert_in_range(copies, SLOW_MS / WEIR_RPC_RESEND_MAX_MS, SLOW_MS / WEIR_RPC_RESEND_MAX_MS + 3);
    stop(lab);
    weir_rpc_peer_close(peer);
}

static void a_server_that_comes_back_is_asked_at_once(void **state)
{
    struct lab *lab = *state;
    char endpoint[64];
    find_endpoint(lab, endpoint);
    serve(lab, endpoint);
    struct weir_rpc_peer *peer = connect_anna(lab, endpoint);
    weir_rpc_call(peer, MSG_health, NULL, INT32_MAX, on_done, NULL);
    assert_int_equal(take(lab, 0), MSG_health); /* and it is lost */
    stop(lab);
    serve(lab, endpoint);
    assert_int_equal(take(lab, 0), MSG_health); /* while its clock stands still */
    stop(lab);
    weir_rpc_peer_close(peer);
}

/* Greets like somebody who knows no keys. */
static void greet_without_keys(int connection)
{
    static const uint8_t GREETING[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                         1,    0x7f, 3, 1, 'N', 'U', 'L', 'L'};
    assert_int_equal(write(connection, GREETING, sizeof(GREETING)), sizeof(GREETING));
}

static void a_server_that_was_another_one_for_a_while_is_found_again(void **state)
{
    struct lab *lab = *state;
    char endpoint[64], byte;
    find_endpoint(lab, endpoint);
    assert_int_equal(listen(lab->holder, 1), 0);
    struct weir_rpc_peer *peer = connect_anna(lab, endpoint);
    weir_rpc_call(peer, MSG_health, NULL, INT32_MAX, on_done, NULL);
    int other = accept(lab->holder, NULL, NULL);
    greet_without_keys(other);
    while (read(other, &byte, 1) > 0) /* until the peer has given it up */
        continue;
    close(other);
    close(lab->holder);
    lab->holder = -1;
    serve(lab, endpoint);
    assert_int_equal(take(lab, 1), MSG_health);
    stop(lab);
    weir_rpc_peer_close(peer);
}

static int patience_ms(struct lab *lab, enum weir_socket_kind kind, const char *address)
{
    const struct weir_socket_plan plan = {kind, address, &lab->anna};
    void *socket = NULL;
    int ms = 0;
    size_t size = sizeof(ms);
    assert_int_equal(weir_socket_new(lab->loop, &plan, &socket, NULL), WEIR_OK);
    assert_int_equal(zmq_getsockopt(socket, ZMQ_HANDSHAKE_IVL, &ms, &size), 0);
    weir_socket_close(socket, NULL);
    return ms;
}

/* A handshake that a peer gives up has cost its server as much, and comes again. */
static void a_peer_has_more_patience_than_its_server(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE char *address = weir_format("tcp://127.0.0.1:1#%s", lab->own.public);
    assert_true(patience_ms(lab, WEIR_SOCKET_PEER, address) >=
                2 * patience_ms(lab, WEIR_SOCKET_SERVER, "tcp://127.0.0.1:1"));
}

int main(void)
{
#define AWAY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AWAY_TEST(a_request_waits_once_for_a_server_that_is_away),
        AWAY_TEST(a_server_that_stands_and_is_slow_is_asked_ever_more_seldom),
        AWAY_TEST(a_server_that_comes_back_is_asked_at_once),
        AWAY_TEST(a_server_that_was_another_one_for_a_while_is_found_again),
        AWAY_TEST(a_peer_has_more_patience_than_its_server),
    };
    return cmocka_run_group_tests_name("rpc_away", tests, NULL, NULL);
}
