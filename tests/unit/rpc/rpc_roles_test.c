/* A server with a listener for trainers beside that for the platform: what each may send, and where answers go. */
#include "tests/unit/rpc/rpc_fixture.h"

#include "core/rpc/envelope.h"

#include <zmq.h>

static const char FOR_TRAINERS[] = "inproc://trainers";

static void on_hold(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_hold_is answer = {.lease_ms = 1};
    fixture->served++;
    weir_rpc_reply(request->server, &request->route, MSG_hold_is, &answer, NULL);
}

static const struct weir_rpc_handler ROLES_SERVED[] = {WEIR_ON(health, on_health),
                                                       WEIR_ON(hold, on_hold),
                                                       WEIR_ON(credit, on_credit),
                                                       {MSG_none, NULL}};

/* The peer is a trainer. */
static int set_up(void **state)
{
    struct fixture *fixture = make_fixture();
    struct weir_error err;
    assert_int_equal(weir_rpc_serve(fixture->loop, "inproc://platform", ROLES_SERVED, fixture,
                                    &fixture->server, &err),
                     WEIR_OK);
    assert_int_equal(weir_rpc_listen(fixture->server, FOR_TRAINERS, WEIR_ROLE_TRAINER, &err),
                     WEIR_OK);
    strcpy(fixture->endpoint, FOR_TRAINERS);
    connect_peer(fixture);
    *state = fixture;
    return 0;
}

static void *connect_raw(struct fixture *fixture, const char *endpoint)
{
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_ROUTING_ID, "me", 2), 0);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

static void send_raw(void *socket, enum weir_message type, uint64_t request, const char *header)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    weir_envelope_pack(&(struct weir_envelope){.type = (uint16_t)type, .request = request},
                       envelope);
    assert_int_equal(zmq_send(socket, envelope, sizeof(envelope), ZMQ_SNDMORE), sizeof(envelope));
    assert_int_equal(zmq_send(socket, header, 1, 0), 1);
}

/* Type of the next answer, whose message is in `header`. */
static enum weir_message receive_raw(struct fixture *fixture, void *socket,
                                     struct weir_buf *ret_header)
{
    uint8_t frame[2048];
    struct weir_envelope envelope;
    struct weir_error err;
    int got;
    while ((got = zmq_recv(socket, frame, sizeof(frame), ZMQ_DONTWAIT)) < 0)
        weir_loop_step(fixture->loop, 1);
    assert_int_equal(weir_envelope_unpack(weir_bytes(frame, (size_t)got), &envelope, &err),
                     WEIR_OK);
    got = zmq_recv(socket, frame, sizeof(frame), 0);
    assert_true(got >= 0 && (size_t)got <= sizeof(frame));
    weir_buf_clear(ret_header);
    weir_buf_append(ret_header, frame, (size_t)got);
    return envelope.type;
}

/* Sends what cannot be decoded, and returns what is said to that. */
static struct msg_error send_rubbish(struct fixture *fixture, void *socket, enum weir_message type)
{
    WEIR_AUTO_BUF header = {0};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_error refusal = {0};
    struct weir_error err;
    send_raw(socket, type, 7, "\xc1");
    assert_int_equal(receive_raw(fixture, socket, &header), MSG_error);
    assert_int_equal(weir_message_unpack(MSG_error, weir_buf_view(&header), arena, &refusal, &err),
                     WEIR_OK);
    refusal.text = NULL;
    return refusal;
}

static void a_trainer_is_refused_what_is_not_declared_for_it_before_it_is_decoded(void **state)
{
    struct fixture *fixture = *state;
    void *trainer = connect_raw(fixture, FOR_TRAINERS);
    void *platform = connect_raw(fixture, "inproc://platform");
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        bool may_send = (info->roles & WEIR_ROLE_TRAINER) != 0;
        uint32_t status = send_rubbish(fixture, trainer, info->type).status;
        assert_int_equal(status == WEIR_DENIED, !may_send);
        assert_int_not_equal(send_rubbish(fixture, platform, info->type).status, WEIR_DENIED);
    }
    assert_int_equal(fixture->served, 0);
    assert_int_equal(weir_rpc_turned_away(fixture->server), 2 * weir_message_count());
    zmq_close(trainer);
    zmq_close(platform);
}

static void a_refusal_names_message_role_and_endpoint(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_read read = {.ids = {.count = 0}};
    weir_rpc_call(fixture->peer, MSG_read, &read, LONG_MS, on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->served, 0);
    assert_int_equal(fixture->err.status, WEIR_DENIED);
    assert_non_null(strstr(fixture->err.text, "message read (0x010d) is not for a trainer to send"
                                              ": refused at inproc://trainers"));
}

static void a_push_goes_back_where_the_peer_came_from(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_credit credit = {.granted = 5};
    const struct msg_batch batch = {.batch = 17};
    weir_rpc_send(fixture->peer, MSG_credit, &credit);
    test_loop_until(fixture->loop, &fixture->done);
    fixture->done = false;
    assert_true(weir_rpc_push(fixture->server, &fixture->route, MSG_batch, &batch, NULL));
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(fixture->batch, 17);
}

/* A trainer that took the name of another process could otherwise keep its requests from being answered. */
static void requests_through_two_listeners_are_never_copies_of_each_other(void **state)
{
    struct fixture *fixture = *state;
    void *trainer = connect_raw(fixture, FOR_TRAINERS);
    void *platform = connect_raw(fixture, "inproc://platform");
    WEIR_AUTO_BUF header = {0};
    send_raw(trainer, MSG_hold, 9, "\x90");
    assert_int_equal(receive_raw(fixture, trainer, &header), MSG_hold_is);
    send_raw(platform, MSG_hold, 9, "\x90");
    assert_int_equal(receive_raw(fixture, platform, &header), MSG_hold_is);
    assert_int_equal(fixture->served, 2);
    zmq_close(trainer);
    zmq_close(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_trainer_is_refused_what_is_not_declared_for_it_before_it_is_decoded, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_names_message_role_and_endpoint, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_push_goes_back_where_the_peer_came_from, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            requests_through_two_listeners_are_never_copies_of_each_other, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("rpc_roles", tests, NULL, NULL);
}
