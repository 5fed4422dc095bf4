/* Fixture of the tests of core/rpc: a server that answers as it is told, a peer that notes what it hears,
 * both in one loop on a clock that stands still. */
#ifndef WEIR_TESTS_UNIT_RPC_FIXTURE_H
#define WEIR_TESTS_UNIT_RPC_FIXTURE_H

#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <zmq.h>

enum { LONG_MS = 60000 };

/* A server that answers, a peer that asks, a clock that stands still. */
struct fixture {
    struct temp_dir dir;
    char endpoint[320];
    struct test_clock clock;
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    int served;               /* requests that reached a handler */
    struct weir_route route;  /* of the newest */
    enum weir_status refusal; /* what the server refuses with; OK: it answers */
    bool silent;              /* it does not even refuse */
    bool closing;             /* it closes itself, then answers */
    void *raw;                /* a socket that a test speaks by; NULL: none does */
    int64_t takes_ms;         /* spent by the clock while it makes an answer */
    struct weir_frames received;
    uint64_t granted; /* of the newest one-way credit at the server */
    /* Messages that the peer heard. */
    int answers;
    bool done;
    struct weir_error err;
    char name[64];
    uint64_t batch;
    const void *payload; /* address of the first frame the peer got */
};

static inline void on_health(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    struct msg_health_is answer = {.name = "storage", .session = 7};
    struct weir_error err;
    fixture->served++;
    fixture->route = request->route;
    weir_frames_clear(&fixture->received);
    weir_frames_move(&fixture->received, request->frames);
    if (fixture->closing) {
        weir_rpc_server_close(fixture->server);
        fixture->server = NULL;
    }
    fixture->clock.now_ms += fixture->takes_ms;
    if (fixture->silent)
        return;
    if (fixture->refusal == WEIR_OK) {
        weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
        return;
    }
    weir_fail(&err, fixture->refusal, "not now");
    weir_rpc_refuse(request->server, &request->route, &err);
}

static inline void on_read(void *owner, struct weir_request *request)
{
    const struct msg_read *message = request->message;
    struct weir_frames frames = {0};
    struct msg_read_is answer = {.epoch = 3};
    (void)owner;
    weir_frames_copy(&frames, message->ids.at, message->ids.count * sizeof(uint64_t));
    weir_frames_copy(&frames, NULL, 0);
    weir_frames_copy(&frames, "abc", 3);
    weir_rpc_reply(request->server, &request->route, MSG_read_is, &answer, &frames);
    assert_int_equal(frames.count, 0);
}

static inline void on_credit(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_credit *credit = request->message;
    assert_int_equal(request->route.request, 0);
    fixture->route = request->route;
    fixture->granted = credit->granted;
    fixture->served++;
    fixture->done = true;
}

static inline void on_batch(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_batch *batch = request->message;
    fixture->batch = batch->batch;
    weir_frames_clear(&fixture->received);
    weir_frames_move(&fixture->received, request->frames);
    fixture->payload = weir_frames_at(&fixture->received, 0).at;
    fixture->done = true;
}

static const struct weir_rpc_handler SERVED[] = {WEIR_ON(health, on_health),
                                                 WEIR_ON(read, on_read),
                                                 WEIR_ON(credit, on_credit),
                                                 {MSG_none, NULL}};
static const struct weir_rpc_handler PUSHED[] = {WEIR_ON(batch, on_batch), {MSG_none, NULL}};

static inline void on_done(void *owner, const struct weir_reply *reply,
                           const struct weir_error *err)
{
    struct fixture *fixture = owner;
    assert_true((reply == NULL) != (err == NULL));
    fixture->answers++;
    fixture->done = true;
    fixture->name[0] = '\0';
    if (err != NULL)
        fixture->err = *err;
    else if (reply->type == MSG_health_is)
        snprintf(fixture->name, sizeof(fixture->name), "%s",
                 ((const struct msg_health_is *)reply->message)->name);
}

static inline void serve(struct fixture *fixture)
{
    struct weir_error err;
    assert_int_equal(
        weir_rpc_serve(fixture->loop, fixture->endpoint, SERVED, fixture, &fixture->server, &err),
        WEIR_OK);
}

static inline void ask(struct fixture *fixture, int64_t deadline_ms)
{
    struct msg_health question;
    memset(&question, 0, sizeof(question));
    fixture->done = false;
    weir_rpc_call(fixture->peer, MSG_health, &question, deadline_ms, on_done, fixture);
}

static inline struct fixture *make_fixture(void)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    temp_dir_make(&fixture->dir);
    fixture->loop = weir_loop_new();
    test_clock_start(&fixture->clock, fixture->loop);
    return fixture;
}

static inline void connect_peer(struct fixture *fixture)
{
    struct weir_error err;
    assert_int_equal(
        weir_rpc_connect(fixture->loop, fixture->endpoint, PUSHED, fixture, &fixture->peer, &err),
        WEIR_OK);
}

static inline int set_up_ipc(void **state)
{
    struct fixture *fixture = make_fixture();
    snprintf(fixture->endpoint, sizeof(fixture->endpoint), "ipc://%s/x.sock", fixture->dir.path);
    serve(fixture);
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

static inline int set_up_inproc(void **state)
{
    struct fixture *fixture = make_fixture();
    strcpy(fixture->endpoint, "inproc://x");
    serve(fixture);
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

/* `endpoint` is the server's address: with its key. */
static inline int set_up_tcp(void **state)
{
    struct fixture *fixture = make_fixture();
    strcpy(fixture->endpoint, "tcp://127.0.0.1:*");
    serve(fixture);
    snprintf(fixture->endpoint, sizeof(fixture->endpoint), "%s", weir_rpc_address(fixture->server));
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;
    weir_frames_clear(&fixture->received);
    weir_rpc_peer_close(fixture->peer);
    weir_rpc_server_close(fixture->server);
    if (fixture->raw != NULL)
        zmq_close(fixture->raw);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    free(fixture);
    return 0;
}

/* One test on a socket file, inside the process, or over TCP. */
#define IPC(name)    cmocka_unit_test_setup_teardown(name, set_up_ipc, tear_down)
#define INPROC(name) cmocka_unit_test_setup_teardown(name, set_up_inproc, tear_down)
#define TCP(name)    cmocka_unit_test_setup_teardown(name, set_up_tcp, tear_down)

#endif
