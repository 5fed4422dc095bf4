/* A peer with a key whose server is not there yet: it speaks to sockets of ZeroMQ's own, on a clock of the test. */
#include "core/base/memory.h"
#include "core/rpc/envelope.h"
#include "core/rpc/rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zmq.h>

#include <cmocka.h>

enum { COPIES = 100, COPIES_MAX = 10 /* some are sent again once the server is there */ };

struct lab {
    struct weir_loop *loop;
    int64_t now_ms;
    struct weir_pair own, anna;
    void *context, *socket;
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

static void step(struct lab *lab, int64_t ms)
{
    lab->now_ms += ms;
    weir_loop_step(lab->loop, 1);
}

/* Returns the type of the next message. */
static enum weir_message take(struct lab *lab)
{
    struct weir_envelope envelope;
    uint8_t name[WEIR_ROUTE_MAX], first[WEIR_ENVELOPE_BYTES], header[256];
    while (zmq_recv(lab->socket, name, sizeof(name), ZMQ_DONTWAIT) < 0)
        step(lab, 1);
    assert_int_equal(zmq_recv(lab->socket, first, sizeof(first), 0), sizeof(first));
    assert_true(zmq_recv(lab->socket, header, sizeof(header), 0) >= 0);
    assert_int_equal(weir_envelope_unpack(weir_bytes(first, sizeof(first)), &envelope, NULL),
                     WEIR_OK);
    return (enum weir_message)envelope.type;
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
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
    struct weir_rpc_peer *peer = NULL;
    char endpoint[64];
    size_t size = sizeof(endpoint);
    serve(lab, "tcp://127.0.0.1:*");
    assert_int_equal(zmq_getsockopt(lab->socket, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    stop(lab);
    WEIR_AUTO_FREE char *address = weir_format("%s#%s", endpoint, lab->own.public);
    assert_int_equal(weir_rpc_connect_as(lab->loop, address, &lab->anna, NULL, NULL, &peer, NULL),
                     WEIR_OK);
    weir_rpc_call(peer, MSG_health, NULL, INT32_MAX, on_done, NULL);
    for (int i = 0; i < COPIES; i++)
        step(lab, WEIR_RPC_RESEND_MS);
    serve(lab, endpoint);
    int copies = 0;
    while (take(lab) == MSG_health)
        if (++copies == 1) /* all that waited has come before */
            weir_rpc_send(peer, MSG_credit, &credit);
    assert_in_range(copies, 1, COPIES_MAX);
    stop(lab);
    weir_rpc_peer_close(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_waits_once_for_a_server_that_is_away, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("rpc_away", tests, NULL, NULL);
}
