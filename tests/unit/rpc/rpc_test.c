/* Requests, refusals, one-way messages, restarts and hostile frames over real sockets: inproc and ipc. */
#include "core/base/memory.h"
#include "core/rpc/envelope.h"
#include "core/rpc/rpc.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

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
    struct weir_frames received;
    uint64_t granted; /* of the newest one-way credit at the server */
    /* What the peer heard. */
    int answers;
    bool done;
    struct weir_error err;
    char name[64];
    uint64_t batch;
    const void *payload; /* address of the first frame the peer got */
};

static void on_health(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    struct msg_health_is answer = {.name = "storage", .session = 7};
    struct weir_error err;
    fixture->served++;
    fixture->route = request->route;
    weir_frames_clear(&fixture->received);
    weir_frames_move(&fixture->received, request->frames);
    if (fixture->silent)
        return;
    if (fixture->refusal == WEIR_OK) {
        weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
        return;
    }
    weir_fail(&err, fixture->refusal, "not now");
    weir_rpc_refuse(request->server, &request->route, &err);
}

static void on_read(void *owner, struct weir_request *request)
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

static void on_credit(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_credit *credit = request->message;
    assert_int_equal(request->route.request, 0);
    fixture->route = request->route;
    fixture->granted = credit->granted;
    fixture->served++;
    fixture->done = true;
}

static void on_batch(void *owner, struct weir_request *request)
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

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    assert_true((reply == NULL) != (err == NULL));
    fixture->answers++;
    fixture->done = true;
    fixture->name[0] = '\0';
    if (err != NULL)
        fixture->err = *err;
    else if (reply->type == MSG_health_is)
        strcpy(fixture->name, ((const struct msg_health_is *)reply->message)->name);
}

static void serve(struct fixture *fixture)
{
    struct weir_error err;
    assert_int_equal(
        weir_rpc_serve(fixture->loop, fixture->endpoint, SERVED, fixture, &fixture->server, &err),
        WEIR_OK);
}

static void ask(struct fixture *fixture, int64_t deadline_ms)
{
    struct msg_health question;
    memset(&question, 0, sizeof question);
    fixture->done = false;
    weir_rpc_call(fixture->peer, MSG_health, &question, deadline_ms, on_done, fixture);
}

static struct fixture *make_fixture(void)
{
    struct fixture *fixture = weir_calloc(1, sizeof *fixture);
    temp_dir_make(&fixture->dir);
    fixture->loop = weir_loop_new();
    test_clock_start(&fixture->clock, fixture->loop);
    return fixture;
}

static void connect_peer(struct fixture *fixture)
{
    struct weir_error err;
    assert_int_equal(
        weir_rpc_connect(fixture->loop, fixture->endpoint, PUSHED, fixture, &fixture->peer, &err),
        WEIR_OK);
}

static int set_up_ipc(void **state)
{
    struct fixture *fixture = make_fixture();
    snprintf(fixture->endpoint, sizeof fixture->endpoint, "ipc://%s/x.sock", fixture->dir.path);
    serve(fixture);
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

static int set_up_inproc(void **state)
{
    struct fixture *fixture = make_fixture();
    strcpy(fixture->endpoint, "inproc://x");
    serve(fixture);
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    weir_frames_clear(&fixture->received);
    weir_rpc_peer_close(fixture->peer);
    weir_rpc_server_close(fixture->server);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    free(fixture);
    return 0;
}

/* ---- requests ---- */

static void a_request_is_answered(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, LONG_MS);
    assert_int_equal(fixture->answers, 0); /* never from inside the call */
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
    assert_int_equal(fixture->served, 1);
}

static void a_refusal_carries_status_and_text(void **state)
{
    struct fixture *fixture = *state;
    fixture->refusal = WEIR_STALE;
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->err.status, WEIR_STALE);
    assert_string_equal(fixture->err.text, "not now");
}

static void a_message_nobody_serves_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct msg_locate question = {0};
    weir_rpc_call(fixture->peer, MSG_locate, &question, LONG_MS, on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->err.status, WEIR_UNSUPPORTED);
    assert_non_null(strstr(fixture->err.text, "message locate (0x010b) is not served at "));
    assert_int_equal(weir_rpc_malformed(fixture->server), 1);
}

static void many_requests_are_answered_each_once(void **state)
{
    struct fixture *fixture = *state;
    enum { MANY = 1000 };
    for (int i = 0; i < MANY; i++)
        ask(fixture, LONG_MS);
    while (fixture->answers < MANY) {
        fixture->done = false;
        test_loop_until(fixture->loop, &fixture->done);
    }
    assert_int_equal(fixture->served, MANY);
}

static void an_unanswered_request_is_sent_again_under_the_same_number(void **state)
{
    struct fixture *fixture = *state;
    fixture->silent = true;
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    uint64_t request = fixture->route.request;
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS - 1);
    test_loop_rounds(fixture->loop, 5);
    assert_int_equal(fixture->served, 1);
    test_clock_advance(&fixture->clock, fixture->loop, 1);
    while (fixture->served < 2)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_int_equal(fixture->route.request, request);
    assert_false(fixture->done);
}

static void two_answers_to_one_request_are_heard_once(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health_is answer = {.name = "twice"};
    fixture->silent = true;
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    weir_rpc_reply(fixture->server, &fixture->route, MSG_health_is, &answer, NULL);
    weir_rpc_reply(fixture->server, &fixture->route, MSG_health_is, &answer, NULL);
    test_loop_until(fixture->loop, &fixture->done);
    test_loop_rounds(fixture->loop, 20);
    assert_int_equal(fixture->answers, 1);
}

static void a_request_outlives_the_server(void **state)
{
    struct fixture *fixture = *state;
    fixture->silent = true;
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    weir_rpc_server_close(fixture->server);
    fixture->silent = false;
    serve(fixture);
    /* What is sent before the peer notices goes to the old one and is lost, once more perhaps. */
    for (int i = 0; i < LONG_MS / WEIR_RPC_RESEND_MS - 1 && !fixture->done; i++) {
        test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
        test_loop_rounds(fixture->loop, 20);
    }
    assert_string_equal(fixture->name, "storage");
}

static void a_request_may_come_before_its_server(void **state)
{
    struct fixture *fixture = *state;
    weir_rpc_server_close(fixture->server);
    fixture->server = NULL;
    ask(fixture, LONG_MS);
    test_loop_rounds(fixture->loop, 5);
    serve(fixture);
    test_loop_until(fixture->loop, &fixture->done); /* though the clock stands still */
    assert_string_equal(fixture->name, "storage");
}

static void a_request_ends_at_its_deadline(void **state)
{
    struct fixture *fixture = *state;
    char expected[400];
    fixture->silent = true;
    ask(fixture, 1200);
    test_clock_advance(&fixture->clock, fixture->loop, 1199);
    test_loop_rounds(fixture->loop, 5);
    assert_false(fixture->done);
    test_clock_advance(&fixture->clock, fixture->loop, 1);
    assert_true(fixture->done);
    assert_int_equal(fixture->err.status, WEIR_TIMEOUT);
    snprintf(expected, sizeof expected, "health: no answer from %s within 1200 ms",
             fixture->endpoint);
    assert_string_equal(fixture->err.text, expected);
}

static void an_unavailable_server_is_asked_until_it_answers(void **state)
{
    struct fixture *fixture = *state;
    fixture->refusal = WEIR_UNAVAILABLE;
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 5);
    assert_false(fixture->done);
    fixture->refusal = WEIR_OK;
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

static void a_server_that_stays_unavailable_is_quoted_at_the_deadline(void **state)
{
    struct fixture *fixture = *state;
    fixture->refusal = WEIR_UNAVAILABLE;
    ask(fixture, 400);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 10);
    test_clock_advance(&fixture->clock, fixture->loop, 400);
    assert_int_equal(fixture->err.status, WEIR_TIMEOUT);
    assert_non_null(strstr(fixture->err.text, "could not answer within 400 ms: not now"));
}

static void a_forgotten_request_is_never_answered(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, LONG_MS);
    weir_rpc_forget(fixture->peer, fixture);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 20);
    assert_int_equal(fixture->answers, 0);
}

static void too_many_open_requests_are_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->silent = true;
    for (int i = 0; i <= WEIR_RPC_CALLS_MAX; i++)
        ask(fixture, LONG_MS);
    assert_int_equal(fixture->answers, 0);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->err.status, WEIR_LIMIT);
    assert_int_equal(fixture->answers, 1);
}

/* ---- asking without a loop ---- */

static void on_loop_thread_ask(struct fixture *fixture, int64_t deadline_ms,
                               enum weir_status expected, struct weir_error *err)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_health question;
    memset(&question, 0, sizeof question);
    struct msg_health_is answer = {0};
    enum weir_status status = weir_rpc_ask(fixture->peer, MSG_health, &question, deadline_ms,
                                           MSG_health_is, arena, &answer, err);
    assert_int_equal(status, expected);
}

static void asking_waits_no_longer_than_its_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    weir_loop_use_clock(fixture->loop, NULL, NULL);
    weir_rpc_server_close(fixture->server);
    fixture->server = NULL;
    on_loop_thread_ask(fixture, 30, WEIR_TIMEOUT, &err);
    assert_non_null(strstr(err.text, "health: no answer from "));
}

/* ---- frames ---- */

static void on_frames(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    assert_null(err);
    weir_frames_move(&fixture->received, reply->frames);
    fixture->done = true;
}

static void a_reply_brings_frames_that_are_aligned(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t IDS[] = {1, 2, 3};
    struct msg_read question = {.ids = {IDS, WEIR_COUNT(IDS)}};
    weir_rpc_call(fixture->peer, MSG_read, &question, LONG_MS, on_frames, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->received.count, 3);
    assert_true(
        weir_bytes_equal(weir_frames_at(&fixture->received, 0), weir_bytes(IDS, sizeof IDS)));
    assert_int_equal(weir_frames_at(&fixture->received, 1).size, 0);
    assert_true(weir_bytes_equal(weir_frames_at(&fixture->received, 2), weir_bytes_of("abc")));
    assert_int_equal(weir_frames_at(&fixture->received, 3).size, 0);
    assert_int_equal(weir_frames_bytes(&fixture->received), sizeof IDS + 3);
    for (size_t i = 0; i < fixture->received.count; i++)
        assert_int_equal((uintptr_t)weir_frames_at(&fixture->received, i).at % 8, 0);
}

static void a_push_reaches_a_peer_that_has_spoken(void **state)
{
    struct fixture *fixture = *state;
    struct msg_credit credit = {.granted = 1 << 20};
    struct msg_batch batch = {.batch = 17};
    struct weir_frames frames = {0};
    weir_rpc_send(fixture->peer, MSG_credit, &credit);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->granted, 1 << 20);
    fixture->done = false;
    uint8_t *tensor = weir_aligned_alloc(1 << 20);
    memset(tensor, 5, 1 << 20);
    weir_frames_give(&frames, tensor, 1 << 20);
    assert_true(weir_rpc_push(fixture->server, &fixture->route, MSG_batch, &batch, &frames));
    assert_int_equal(frames.count, 0);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->batch, 17);
    assert_int_equal(weir_frames_at(&fixture->received, 0).size, 1 << 20);
    /* In one process even the address is the same: nothing was copied on the way. */
    if (strncmp(fixture->endpoint, "inproc", 6) == 0)
        assert_ptr_equal(fixture->payload, tensor);
}

static void a_push_to_nobody_keeps_its_frames(void **state)
{
    struct fixture *fixture = *state;
    struct weir_route nobody = {.identity = "nobody", .identity_size = 6};
    struct msg_batch batch = {.batch = 1};
    struct weir_frames frames = {0};
    weir_frames_copy(&frames, "abc", 3);
    assert_false(weir_rpc_push(fixture->server, &nobody, MSG_batch, &batch, &frames));
    assert_int_equal(frames.count, 1);
    weir_frames_clear(&frames);
}

static void a_push_with_nobody_reading_stops_at_the_mark(void **state)
{
    struct fixture *fixture = *state;
    struct msg_credit credit = {.granted = 1};
    struct msg_batch batch = {.batch = 1};
    int pushed = 0;
    weir_rpc_send(fixture->peer, MSG_credit, &credit);
    test_loop_until(fixture->loop, &fixture->done);
    while (weir_rpc_push(fixture->server, &fixture->route, MSG_batch, &batch, NULL)) {
        pushed++;
        assert_true(pushed < 1000000);
    }
    assert_true(pushed > 0);
}

/* ---- closing inside callbacks ---- */

static void close_peer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    (void)reply, (void)err;
    weir_rpc_peer_close(fixture->peer);
    fixture->peer = NULL;
    fixture->done = true;
}

static void a_peer_may_be_closed_by_its_own_callback(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health question;
    memset(&question, 0, sizeof question);
    for (int i = 0; i < 3; i++)
        weir_rpc_call(fixture->peer, MSG_health, &question, LONG_MS, close_peer, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    test_loop_rounds(fixture->loop, 5);
}

static void a_peer_may_be_closed_by_its_own_timeout(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health question;
    memset(&question, 0, sizeof question);
    for (int i = 0; i < 3; i++)
        weir_rpc_call(fixture->peer, MSG_health, &question, 0, close_peer, fixture);
    assert_false(fixture->done);
    test_loop_until(fixture->loop, &fixture->done);
    test_loop_rounds(fixture->loop, 5);
}

static void ask_again(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    (void)reply, (void)err;
    ask(fixture, LONG_MS);
}

static void a_callback_may_ask_anew(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health question;
    memset(&question, 0, sizeof question);
    weir_rpc_call(fixture->peer, MSG_health, &question, LONG_MS, ask_again, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->served, 2);
}

/* ---- hostile frames ---- */

struct hostile {
    const char *what;
    uint64_t request;     /* 0: no answer is due */
    size_t frames;        /* payload frames */
    size_t envelope_size; /* as sent */
    uint8_t spoil;        /* byte of the envelope that is changed; 255: none */
    const char *header;   /* NULL: no header frame at all */
    size_t header_size;
};

static void send_hostile(void *socket, const struct hostile *hostile)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    bool has_header = hostile->header != NULL;
    weir_envelope_pack(&(struct weir_envelope){.type = MSG_locate, .request = 9}, envelope);
    if (hostile->spoil < sizeof envelope)
        envelope[hostile->spoil] ^= 0xff;
    zmq_send(socket, envelope, hostile->envelope_size, has_header ? ZMQ_SNDMORE : 0);
    if (has_header)
        zmq_send(socket, hostile->header, hostile->header_size,
                 hostile->frames > 0 ? ZMQ_SNDMORE : 0);
    for (size_t i = 0; i < hostile->frames; i++)
        zmq_send(socket, "x", 1, i + 1 < hostile->frames ? ZMQ_SNDMORE : 0);
}

static void on_locate(void *owner, struct weir_request *request)
{
    (void)owner, (void)request;
    fail_msg("a malformed message reached its handler");
}

static uint64_t receive_refusal(struct weir_loop *loop, void *socket)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    char header[1024];
    struct weir_envelope found;
    struct weir_error err;
    int size;
    while ((size = zmq_recv(socket, envelope, sizeof envelope, ZMQ_DONTWAIT)) < 0)
        weir_loop_step(loop, 1);
    assert_int_equal(weir_envelope_unpack(weir_bytes(envelope, (size_t)size), &found, &err),
                     WEIR_OK);
    assert_int_equal(found.type, MSG_error);
    assert_true(zmq_recv(socket, header, sizeof header, ZMQ_DONTWAIT) > 0);
    return found.request;
}

static void malformed_messages_are_counted_and_refused(void **state)
{
    // clang-format off
    static const struct hostile CASES[] = {
        {"no envelope",         0, 0, 3,  255, "\x90", 1},
        {"bad magic",           0, 0, 32, 0,   "\x90", 1},
        {"other version",       9, 0, 32, 4,   "\x90", 1},
        {"unknown type",        9, 0, 32, 7,   "\x90", 1},
        {"no header",           9, 0, 32, 255, NULL,   0},
        {"empty header",        9, 0, 32, 255, "",     0},
        {"header of rubbish",   9, 0, 32, 255, "\xc1", 1},
        {"header too long",     9, 0, 32, 255, "\x90\x90", 2},
        {"a hostile length",    9, 0, 32, 255, "\xdd\xff\xff\xff\xff", 5},
        {"too many frames",     9, 65, 32, 255, "\x90", 1},
    };
    // clang-format on
    static const struct weir_rpc_handler LOCATE[] = {WEIR_ON(locate, on_locate), {MSG_none, NULL}};
    struct fixture *fixture = *state;
    struct weir_error err;
    WEIR_AUTO(weir_rpc_server) server = NULL;
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    assert_int_equal(weir_rpc_serve(fixture->loop, "inproc://hostile", LOCATE, NULL, &server, &err),
                     WEIR_OK);
    assert_int_equal(zmq_connect(socket, "inproc://hostile"), 0);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        print_message("%s\n", CASES[i].what);
        send_hostile(socket, &CASES[i]);
        if (CASES[i].request != 0)
            assert_int_equal(receive_refusal(fixture->loop, socket), CASES[i].request);
        while (weir_rpc_malformed(server) < i + 1)
            weir_loop_step(fixture->loop, 1);
    }
    zmq_close(socket);
}

/* ---- endpoints ---- */

static void an_endpoint_in_use_is_not_taken_over(void **state)
{
    struct fixture *fixture = *state;
    struct weir_rpc_server *second = NULL;
    struct weir_error err;
    char expected[500];
    assert_int_equal(
        weir_rpc_serve(fixture->loop, fixture->endpoint, SERVED, fixture, &second, &err), WEIR_IO);
    snprintf(expected, sizeof expected,
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
    snprintf(endpoint, sizeof endpoint, "ipc://%s/dead.sock", fixture->dir.path);
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/dead.sock", fixture->dir.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
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

int main(void)
{
#define IPC(name)    cmocka_unit_test_setup_teardown(name, set_up_ipc, tear_down)
#define INPROC(name) cmocka_unit_test_setup_teardown(name, set_up_inproc, tear_down)
    const struct CMUnitTest tests[] = {
        IPC(a_request_is_answered),
        INPROC(a_request_is_answered),
        IPC(a_refusal_carries_status_and_text),
        IPC(a_message_nobody_serves_is_refused),
        IPC(many_requests_are_answered_each_once),
        IPC(an_unanswered_request_is_sent_again_under_the_same_number),
        INPROC(two_answers_to_one_request_are_heard_once),
        IPC(a_request_outlives_the_server),
        IPC(a_request_may_come_before_its_server),
        IPC(a_request_ends_at_its_deadline),
        INPROC(a_request_ends_at_its_deadline),
        IPC(an_unavailable_server_is_asked_until_it_answers),
        IPC(a_server_that_stays_unavailable_is_quoted_at_the_deadline),
        INPROC(a_forgotten_request_is_never_answered),
        INPROC(too_many_open_requests_are_refused),
        IPC(asking_waits_no_longer_than_its_deadline),
        IPC(a_reply_brings_frames_that_are_aligned),
        INPROC(a_reply_brings_frames_that_are_aligned),
        IPC(a_push_reaches_a_peer_that_has_spoken),
        INPROC(a_push_reaches_a_peer_that_has_spoken),
        INPROC(a_push_to_nobody_keeps_its_frames),
        INPROC(a_push_with_nobody_reading_stops_at_the_mark),
        INPROC(a_peer_may_be_closed_by_its_own_callback),
        INPROC(a_peer_may_be_closed_by_its_own_timeout),
        INPROC(a_callback_may_ask_anew),
        INPROC(malformed_messages_are_counted_and_refused),
        IPC(an_endpoint_in_use_is_not_taken_over),
        IPC(the_socket_file_of_a_dead_process_is_no_obstacle),
        IPC(an_impossible_endpoint_is_named),
        INPROC(a_port_chosen_by_the_system_is_told),
    };
#undef IPC
#undef INPROC
    return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
