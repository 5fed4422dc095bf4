/* Payload frames both ways, one-way messages, and frames that no Weir would send. */
#include "core/rpc/answered.h"
#include "core/rpc/envelope.h"
#include "tests/unit/rpc/rpc_fixture.h"

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
    struct msg_read message = {.ids = {IDS, WEIR_COUNT(IDS)}};
    weir_rpc_call(fixture->peer, MSG_read, &message, LONG_MS, on_frames, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->received.count, 3);
    assert_true(
        weir_bytes_equal(weir_frames_at(&fixture->received, 0), weir_bytes(IDS, sizeof(IDS))));
    assert_int_equal(weir_frames_at(&fixture->received, 1).size, 0);
    assert_true(weir_bytes_equal(weir_frames_at(&fixture->received, 2), weir_bytes_of("abc")));
    assert_int_equal(weir_frames_at(&fixture->received, 3).size, 0);
    assert_int_equal(weir_frames_bytes(&fixture->received), sizeof(IDS) + 3);
    for (size_t i = 0; i < fixture->received.count; i++)
        assert_int_equal((uintptr_t)weir_frames_at(&fixture->received, i).at % 8, 0);
}

/* Waits until the server has heard `served` requests; the newest brought `payload`. */
static void expect_served(struct fixture *fixture, int served, struct weir_bytes payload)
{
    while (fixture->served < served)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_int_equal(fixture->served, served);
    assert_true(weir_bytes_equal(weir_frames_at(&fixture->received, 0), payload));
}

static void a_request_with_frames_is_sent_again_ever_more_seldom(void **state)
{
    struct fixture *fixture = *state;
    static const uint8_t PAYLOAD[10000] = "payload";
    struct weir_bytes payload = weir_bytes(PAYLOAD, sizeof(PAYLOAD));
    struct msg_health message;
    struct weir_frames frames = {0};
    int64_t wait_ms = WEIR_RPC_FRAMED_RESEND_MS;
    memset(&message, 0, sizeof(message));
    weir_frames_copy(&frames, PAYLOAD, sizeof(PAYLOAD));
    fixture->silent = true;
    weir_rpc_call_framed(fixture->peer, &(struct weir_framed_call){.type = MSG_health,
                                                                   .message = &message,
                                                                   .frames = &frames,
                                                                   .deadline_ms = LONG_MS,
                                                                   .done = on_done,
                                                                   .owner = fixture});
    assert_int_equal(frames.count, 0);
    expect_served(fixture, 1, payload);
    for (int sends = 2; sends <= 6; sends++) {
        test_clock_advance(&fixture->clock, fixture->loop, wait_ms - 1);
        test_loop_rounds(fixture->loop, 5);
        assert_int_equal(fixture->served, sends - 1);
        fixture->silent = sends < 6;
        test_clock_advance(&fixture->clock, fixture->loop, 1);
        expect_served(fixture, sends, payload);
        wait_ms = wait_ms < WEIR_RPC_FRAMED_RESEND_MAX_MS ? 2 * wait_ms : wait_ms;
    }
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->answers, 1);
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

/* ---- copies ---- */

/* Returns a connected socket that is closed with the fixture. */
static void *raw_socket(struct fixture *fixture)
{
    fixture->raw = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    assert_int_equal(zmq_connect(fixture->raw, fixture->endpoint), 0);
    return fixture->raw;
}

static void send_question(void *socket, uint64_t request)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    WEIR_AUTO_BUF header = {0};
    struct msg_health health;
    memset(&health, 0, sizeof(health));
    weir_envelope_pack(&(struct weir_envelope){.type = MSG_health, .request = request}, envelope);
    weir_message_pack(MSG_health, &health, &header);
    zmq_send(socket, envelope, sizeof(envelope), ZMQ_SNDMORE);
    zmq_send(socket, header.at, header.size, 0);
}

static void expect_calls(struct fixture *fixture, int served)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (fixture->served < served && weir_now_ms() < limit_ms)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 3);
    assert_int_equal(fixture->served, served);
}

static void copies_that_came_before_the_answer_got_there_are_passed_over(void **state)
{
    enum { COPIES = 5 };
    struct fixture *fixture = *state;
    void *socket = raw_socket(fixture);
    for (int i = 0; i < COPIES; i++)
        send_question(socket, 9);
    send_question(socket, 10);
    expect_calls(fixture, 2);
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
    send_question(socket, 9); /* its answer was lost */
    expect_calls(fixture, 3);
    fixture->refusal = WEIR_UNAVAILABLE;
    for (int i = 0; i < COPIES; i++)
        send_question(socket, 11); /* who is refused may ask again at once */
    expect_calls(fixture, 3 + COPIES);
}

/* A refusal that took long, say because everything was read before something was found wrong. */
static void copies_of_a_request_that_is_refused_for_good_are_passed_over(void **state)
{
    enum { COPIES = 5, TAKES_MS = 5 * WEIR_RPC_RESEND_MS };
    struct fixture *fixture = *state;
    void *socket = raw_socket(fixture);
    fixture->refusal = WEIR_INVALID;
    fixture->takes_ms = TAKES_MS;
    for (int i = 0; i < COPIES; i++)
        send_question(socket, 9);
    expect_calls(fixture, 1);
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS + TAKES_MS);
    send_question(socket, 9); /* the refusal was lost */
    expect_calls(fixture, 2);
}

static void copies_of_a_request_that_is_worked_on_are_passed_over(void **state)
{
    enum { COPIES = 5 };
    struct fixture *fixture = *state;
    void *socket = raw_socket(fixture);
    struct weir_error err;
    fixture->silent = true; /* it answers later */
    for (int i = 0; i < COPIES; i++)
        send_question(socket, 9);
    expect_calls(fixture, 1);
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
    send_question(socket, 9); /* as whoever waits for it does */
    expect_calls(fixture, 2);
    weir_fail(&err, WEIR_UNAVAILABLE, "not now");
    weir_rpc_refuse(fixture->server, &fixture->route, &err);
    send_question(socket, 9);
    expect_calls(fixture, 3);
}

/* Two that wait for answers which take long: their copies wait at the door. */
static void copies_of_requests_that_take_long_are_passed_over(void **state)
{
    enum { COPIES = 5, TAKES_MS = 5 * WEIR_RPC_RESEND_MS };
    struct fixture *fixture = *state;
    void *socket = raw_socket(fixture);
    fixture->takes_ms = TAKES_MS;
    for (int i = 0; i < COPIES; i++) {
        send_question(socket, 9);
        send_question(socket, 10);
    }
    expect_calls(fixture, 2);
    test_clock_advance(&fixture->clock, fixture->loop, TAKES_MS);
    send_question(socket, 10); /* its answer is on its way, or being read */
    expect_calls(fixture, 2);
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
    send_question(socket, 10); /* its answer was lost */
    expect_calls(fixture, 3);
}

/* A round in which long answers were given ends, so that timers and signals are looked at. */
static void a_round_begins_no_second_answer_that_takes_long(void **state)
{
    struct fixture *fixture = *state;
    void *socket = raw_socket(fixture);
    fixture->takes_ms = 1000;
    for (uint64_t request = 1; request <= 5; request++)
        send_question(socket, request);
    while (fixture->served < 5) {
        int served = fixture->served;
        weir_loop_step(fixture->loop, TEST_STEP_MS);
        assert_in_range(fixture->served, served, served + 1);
    }
}

/* A peer that has lost an answer is heard again, though the door is never seen empty. */
static void a_copy_is_passed_over_for_a_bounded_time(void **state)
{
    static struct weir_answered answered;
    const struct weir_route route = {.identity = "anna", .identity_size = 4, .request = 1};
    const int64_t until_ms = 2000 + WEIR_RPC_RESEND_MS + 1000, long_ms = 100 * 1000;
    (void)state;
    weir_answered_begin(&answered, &route, 1000);
    weir_answered_note(&answered, &route, 2000);
    assert_true(weir_answered_lately(&answered, &route, until_ms - 1, until_ms));
    assert_false(weir_answered_lately(&answered, &route, until_ms, until_ms));
    assert_true(weir_answered_lately(&answered, &route, 0, until_ms + WEIR_ANSWERED_FULL_MS - 1));
    assert_false(weir_answered_lately(&answered, &route, 0, until_ms + WEIR_ANSWERED_FULL_MS));
    weir_answered_begin(&answered, &route, 0);
    weir_answered_note(&answered, &route, long_ms);
    assert_false(weir_answered_lately(
        &answered, &route, long_ms + WEIR_RPC_RESEND_MS + WEIR_ANSWERED_SLOW_MS, 2 * long_ms));
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
    if (hostile->spoil < sizeof(envelope))
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
    while ((size = zmq_recv(socket, envelope, sizeof(envelope), ZMQ_DONTWAIT)) < 0)
        weir_loop_step(loop, 1);
    assert_int_equal(weir_envelope_unpack(weir_bytes(envelope, (size_t)size), &found, &err),
                     WEIR_OK);
    assert_int_equal(found.type, MSG_error);
    assert_true(zmq_recv(socket, header, sizeof(header), ZMQ_DONTWAIT) > 0);
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
        while (weir_rpc_turned_away(server) < i + 1)
            weir_loop_step(fixture->loop, 1);
    }
    zmq_close(socket);
}

/* ---- large in sum ---- */

static void send_many(void *socket, size_t frames, const void *at, size_t size)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    weir_envelope_pack(&(struct weir_envelope){.type = MSG_health, .request = 9}, envelope);
    zmq_send(socket, envelope, sizeof(envelope), ZMQ_SNDMORE);
    zmq_send(socket, "\x90", 1, ZMQ_SNDMORE);
    for (size_t i = 0; i < frames; i++)
        zmq_send(socket, at, size, i + 1 < frames ? ZMQ_SNDMORE : 0);
}

/* It is refused, once, and no handler sees it; who behaves is served as before. */
static void expect_one_refusal(struct fixture *fixture, void *socket)
{
    assert_int_equal(receive_refusal(fixture->loop, socket), 9);
    assert_int_equal(weir_rpc_turned_away(fixture->server), 1);
    assert_int_equal(fixture->served, 0);
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
    zmq_close(socket);
}

static void a_message_is_bounded_by_the_sum_of_its_frames(void **state)
{
    enum { FRAMES = 40, FRAME_BYTES = 2 << 20 }; /* each of them alone is fine */
    struct fixture *fixture = *state;
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(1, FRAME_BYTES);
    assert_true((size_t)FRAMES * FRAME_BYTES > WEIR_RPC_REQUEST_MAX);
    assert_int_equal(zmq_connect(socket, fixture->endpoint), 0);
    send_many(socket, FRAMES, bytes, FRAME_BYTES);
    expect_one_refusal(fixture, socket);
}

static void a_message_of_a_million_frames_is_one_refusal(void **state)
{
    struct fixture *fixture = *state;
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    assert_int_equal(zmq_connect(socket, fixture->endpoint), 0);
    send_many(socket, 1000000, "x", 1);
    expect_one_refusal(fixture, socket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IPC(a_reply_brings_frames_that_are_aligned),
        INPROC(a_reply_brings_frames_that_are_aligned),
        TCP(a_reply_brings_frames_that_are_aligned),
        IPC(a_request_with_frames_is_sent_again_ever_more_seldom),
        INPROC(a_request_with_frames_is_sent_again_ever_more_seldom),
        TCP(a_request_with_frames_is_sent_again_ever_more_seldom),
        IPC(a_push_reaches_a_peer_that_has_spoken),
        INPROC(a_push_reaches_a_peer_that_has_spoken),
        TCP(a_push_reaches_a_peer_that_has_spoken),
        INPROC(a_push_to_nobody_keeps_its_frames),
        INPROC(a_push_with_nobody_reading_stops_at_the_mark),
        IPC(copies_that_came_before_the_answer_got_there_are_passed_over),
        INPROC(copies_that_came_before_the_answer_got_there_are_passed_over),
        IPC(copies_of_a_request_that_is_worked_on_are_passed_over),
        INPROC(copies_of_a_request_that_is_worked_on_are_passed_over),
        IPC(copies_of_a_request_that_is_refused_for_good_are_passed_over),
        INPROC(copies_of_a_request_that_is_refused_for_good_are_passed_over),
        IPC(copies_of_requests_that_take_long_are_passed_over),
        INPROC(copies_of_requests_that_take_long_are_passed_over),
        INPROC(a_round_begins_no_second_answer_that_takes_long),
        cmocka_unit_test(a_copy_is_passed_over_for_a_bounded_time),
        INPROC(malformed_messages_are_counted_and_refused),
        IPC(a_message_is_bounded_by_the_sum_of_its_frames),
        IPC(a_message_of_a_million_frames_is_one_refusal),
    };
    return cmocka_run_group_tests_name("rpc_frames", tests, NULL, NULL);
}
