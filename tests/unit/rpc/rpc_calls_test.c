/* Requests: answered once, refused, sent again, given up; callbacks that close what called them. */
#include "core/rpc/envelope.h"
#include "tests/unit/rpc/rpc_fixture.h"

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

static void assert_refused(struct fixture *fixture, enum weir_status by, enum weir_status as)
{
    fixture->refusal = by;
    fixture->done = false;
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->err.status, as);
    assert_string_equal(fixture->err.text, "not now");
}

/* UNAVAILABLE is asked again instead. */
static void a_refusal_carries_status_and_text(void **state)
{
#define X(name, number)                                       \
    if (WEIR_##name != WEIR_OK && number != WEIR_UNAVAILABLE) \
        assert_refused(*state, WEIR_##name, WEIR_##name);
    WEIR_STATUS_LIST(X)
#undef X
}

static void a_refusal_of_no_known_status_is_a_defect(void **state)
{
    enum { OF_A_LATER_RELEASE = 4711 };
    assert_refused(*state, (enum weir_status)OF_A_LATER_RELEASE, WEIR_INTERNAL);
}

static void a_message_nobody_serves_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct msg_locate message = {0};
    weir_rpc_call(fixture->peer, MSG_locate, &message, LONG_MS, on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->err.status, WEIR_UNSUPPORTED);
    assert_non_null(strstr(fixture->err.text, "message locate (0x010b) is not served at "));
    assert_int_equal(weir_rpc_turned_away(fixture->server), 1);
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
    /* A request sent before the peer notices goes to the old one and is lost, once more perhaps. */
    for (int i = 0; i < LONG_MS / WEIR_RPC_RESEND_MS - 1 && !fixture->done; i++) {
        test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS);
        test_loop_rounds(fixture->loop, 20);
    }
    assert_string_equal(fixture->name, "storage");
}

static void a_request_outlives_a_connection_that_is_renewed(void **state)
{
    struct fixture *fixture = *state;
    fixture->silent = true;
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    fixture->silent = false;
    weir_rpc_peer_renew(fixture->peer);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

static void a_request_may_come_before_its_server(void **state)
{
    struct fixture *fixture = *state;
    weir_rpc_server_close(fixture->server);
    fixture->server = NULL;
    weir_rpc_peer_close(fixture->peer); /* it may still hold a connection to the old one */
    connect_peer(fixture);
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
    snprintf(expected, sizeof(expected), "health: no answer from %s within 1200 ms",
             fixture->endpoint);
    assert_string_equal(fixture->err.text, expected);
}

/* Answers keep their order: what was answered before has come. */
static void let_answers_come(struct fixture *fixture)
{
    struct msg_locate unserved = {0};

    fixture->done = false;
    weir_rpc_call(fixture->peer, MSG_locate, &unserved, LONG_MS, on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
}

static void an_unavailable_server_is_asked_until_it_answers(void **state)
{
    struct fixture *fixture = *state;
    fixture->refusal = WEIR_UNAVAILABLE;
    ask(fixture, LONG_MS);
    let_answers_come(fixture);
    assert_int_equal(fixture->served, 1);
    assert_int_equal(fixture->answers, 1); /* the other one's */
    fixture->refusal = WEIR_OK;
    fixture->done = false;
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_REFUSED_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

static void a_server_that_is_not_ready_is_asked_again_soon_then_ever_more_seldom(void **state)
{
    struct fixture *fixture = *state;
    int asked = 1;

    fixture->refusal = WEIR_UNAVAILABLE;
    ask(fixture, LONG_MS);
    for (int64_t pause_ms = WEIR_RPC_REFUSED_MS; pause_ms < WEIR_RPC_RESEND_MS; pause_ms *= 2) {
        let_answers_come(fixture);
        test_clock_advance(&fixture->clock, fixture->loop, pause_ms - 1);
        let_answers_come(fixture);
        assert_int_equal(fixture->served, asked);
        test_clock_advance(&fixture->clock, fixture->loop, 1);
        let_answers_come(fixture);
        assert_int_equal(fixture->served, ++asked);
    }
    test_clock_advance(&fixture->clock, fixture->loop, WEIR_RPC_RESEND_MS - 1);
    let_answers_come(fixture);
    assert_int_equal(fixture->served, asked);
}

static void a_server_that_stays_unavailable_is_quoted_at_the_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct msg_read later = {0};
    fixture->refusal = WEIR_UNAVAILABLE;
    ask(fixture, 400);
    weir_rpc_call(fixture->peer, MSG_read, &later, LONG_MS, on_done, fixture);
    test_loop_until(fixture->loop,
                    &fixture->done); /* answers keep their order: the refusal has come */
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
    struct msg_health message;
    memset(&message, 0, sizeof(message));
    struct msg_health_is answer = {0};
    enum weir_status status = weir_rpc_request(fixture->peer, MSG_health, &message, deadline_ms,
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
    struct msg_health message;
    memset(&message, 0, sizeof(message));
    for (int i = 0; i < 3; i++)
        weir_rpc_call(fixture->peer, MSG_health, &message, LONG_MS, close_peer, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    test_loop_rounds(fixture->loop, 5);
}

static void a_peer_may_be_closed_by_its_own_timeout(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health message;
    memset(&message, 0, sizeof(message));
    for (int i = 0; i < 3; i++)
        weir_rpc_call(fixture->peer, MSG_health, &message, 0, close_peer, fixture);
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
    struct msg_health message;
    memset(&message, 0, sizeof(message));
    weir_rpc_call(fixture->peer, MSG_health, &message, LONG_MS, ask_again, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->served, 2);
}

static void a_server_may_be_closed_by_its_own_handler(void **state)
{
    struct fixture *fixture = *state;
    fixture->closing = true;
    ask(fixture, LONG_MS);
    ask(fixture, LONG_MS);
    while (fixture->served < 1)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 5);
    assert_int_equal(fixture->served, 1);
}

static void forgetting_one_owner_leaves_the_others(void **state)
{
    struct fixture *fixture = *state;
    struct msg_health message;
    int other = 0;
    memset(&message, 0, sizeof(message));
    weir_rpc_call(fixture->peer, MSG_health, &message, LONG_MS, close_peer, &other);
    ask(fixture, LONG_MS);
    weir_rpc_forget(fixture->peer, &other);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

/* ---- answers that no Weir would send ---- */

/* Receives one request on a raw ROUTER and answers it with these frames. */
static void answer_raw(struct fixture *fixture, void *router, uint16_t type, const char *header,
                       size_t size)
{
    uint8_t route[WEIR_ROUTE_MAX], frame[WEIR_ENVELOPE_BYTES], rest[1024];
    struct weir_envelope envelope;
    int route_size;
    while ((route_size = zmq_recv(router, route, sizeof(route), ZMQ_DONTWAIT)) < 0)
        weir_loop_step(fixture->loop, 1);
    assert_int_equal(zmq_recv(router, frame, sizeof(frame), 0), sizeof(frame));
    assert_true(zmq_recv(router, rest, sizeof(rest), 0) >= 0);
    assert_int_equal(weir_envelope_unpack(weir_bytes(frame, sizeof(frame)), &envelope, NULL),
                     WEIR_OK);
    envelope.type = type;
    weir_envelope_pack(&envelope, frame);
    zmq_send(router, route, (size_t)route_size, ZMQ_SNDMORE);
    zmq_send(router, frame, sizeof(frame), ZMQ_SNDMORE);
    zmq_send(router, header, size, 0);
}

static bool is_asked(enum weir_message type)
{
    for (size_t i = 0; i < weir_message_count(); i++) {
        enum weir_message reply = weir_message_at(i)->type;
        if (reply != MSG_error && weir_message_answers(reply, type))
            return true;
    }
    return false;
}

static void every_request_refuses_every_message_that_is_no_answer_to_it(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    size_t asked = 0;
    void *router = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_ROUTER);
    weir_rpc_peer_close(fixture->peer);
    assert_int_equal(zmq_bind(router, "inproc://raw"), 0);
    assert_int_equal(
        weir_rpc_connect(fixture->loop, "inproc://raw", NULL, NULL, &fixture->peer, &err), WEIR_OK);
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *request = weir_message_at(i);
        WEIR_AUTO_FREE void *message = weir_calloc(1, request->size + 1);
        asked += is_asked(request->type);
        for (size_t k = 0; is_asked(request->type) && k < weir_message_count(); k++) {
            enum weir_message reply = weir_message_at(k)->type;
            if (weir_message_answers(reply, request->type))
                continue;
            fixture->done = false;
            weir_rpc_call(fixture->peer, request->type, message, LONG_MS, on_done, fixture);
            answer_raw(fixture, router, (uint16_t)reply, "\x90", 1);
            test_loop_until(fixture->loop, &fixture->done);
            assert_int_equal(fixture->err.status, WEIR_UNSUPPORTED);
            assert_non_null(strstr(fixture->err.text, weir_message_at(k)->name));
        }
    }
    assert_true(asked > 40);
    zmq_close(router);
}

static void an_answer_that_cannot_be_read_is_an_error(void **state)
{
    static const struct {
        uint16_t type;
        const char *header;
        size_t size;
        enum weir_status expected;
    } CASES[] = {
        {0x7fff, "\x90", 1, WEIR_UNSUPPORTED},
        {MSG_health_is, "\xc1", 1, WEIR_INVALID},
        {MSG_error, "\x92\xcd\xff\xff\xa1x", 6, WEIR_INTERNAL}, /* no such status */
        {MSG_error, "\x92\x00\xa1x", 4, WEIR_INTERNAL},         /* refused with success */
    };
    struct fixture *fixture = *state;
    struct weir_error err;
    void *router = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_ROUTER);
    weir_rpc_peer_close(fixture->peer);
    assert_int_equal(zmq_bind(router, "inproc://raw"), 0);
    assert_int_equal(
        weir_rpc_connect(fixture->loop, "inproc://raw", NULL, NULL, &fixture->peer, &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        ask(fixture, LONG_MS);
        answer_raw(fixture, router, CASES[i].type, CASES[i].header, CASES[i].size);
        test_loop_until(fixture->loop, &fixture->done);
        assert_int_equal(fixture->err.status, CASES[i].expected);
    }
    zmq_close(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IPC(a_request_is_answered),
        INPROC(a_request_is_answered),
        IPC(a_refusal_carries_status_and_text),
        IPC(a_refusal_of_no_known_status_is_a_defect),
        IPC(a_message_nobody_serves_is_refused),
        IPC(many_requests_are_answered_each_once),
        IPC(an_unanswered_request_is_sent_again_under_the_same_number),
        INPROC(two_answers_to_one_request_are_heard_once),
        IPC(a_request_outlives_the_server),
        IPC(a_request_outlives_a_connection_that_is_renewed),
        IPC(a_request_may_come_before_its_server),
        IPC(a_request_ends_at_its_deadline),
        INPROC(a_request_ends_at_its_deadline),
        IPC(an_unavailable_server_is_asked_until_it_answers),
        IPC(a_server_that_is_not_ready_is_asked_again_soon_then_ever_more_seldom),
        IPC(a_server_that_stays_unavailable_is_quoted_at_the_deadline),
        INPROC(a_forgotten_request_is_never_answered),
        INPROC(too_many_open_requests_are_refused),
        IPC(asking_waits_no_longer_than_its_deadline),
        INPROC(a_peer_may_be_closed_by_its_own_callback),
        INPROC(a_peer_may_be_closed_by_its_own_timeout),
        INPROC(a_callback_may_ask_anew),
        INPROC(a_server_may_be_closed_by_its_own_handler),
        INPROC(forgetting_one_owner_leaves_the_others),
        INPROC(every_request_refuses_every_message_that_is_no_answer_to_it),
        INPROC(an_answer_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests_name("rpc_calls", tests, NULL, NULL);
}
