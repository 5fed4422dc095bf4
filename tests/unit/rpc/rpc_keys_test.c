/* TCP among strangers: whoever does not have the key is not heard, and learns nothing, whichever end of the connection
 * it has taken. */
#include "core/rpc/envelope.h"
#include "tests/unit/rpc/relay.h"
#include "tests/unit/rpc/rpc_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A payload that nobody is to read, or to send. */
static const uint64_t SECRET = 0x1122334455667788u;

static void send_credit(void *socket)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    WEIR_AUTO_BUF header = {0};
    struct msg_credit credit = {.session = SECRET, .granted = 1 << 20};
    weir_envelope_pack(&(struct weir_envelope){.type = MSG_credit}, envelope);
    weir_message_pack(MSG_credit, &credit, &header);
    zmq_send(socket, envelope, sizeof(envelope), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, header.at, header.size, ZMQ_DONTWAIT);
}

/* Until so many connections were turned away; `served` requests were heard meanwhile. */
static void expect_strangers(struct fixture *fixture, uint64_t strangers, int served)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (weir_rpc_strangers(fixture->server) < strangers && weir_now_ms() < limit_ms)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 5);
    assert_true(weir_rpc_strangers(fixture->server) >= strangers);
    assert_int_equal(fixture->served, served);
    assert_int_equal(weir_rpc_turned_away(fixture->server), 0);
}

static void expect_answer(struct fixture *fixture)
{
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

/* A socket of somebody who knows the port; with `key`, CURVE under that key. */
static void *knock(const struct fixture *fixture, const char *key)
{
    static const int NO_LINGER = 0;
    char open[41], secret[41];
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_DEALER);
    zmq_setsockopt(socket, ZMQ_LINGER, &NO_LINGER, sizeof(NO_LINGER));
    assert_int_equal(zmq_curve_keypair(open, secret), 0);
    if (key != NULL) {
        assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key, 41), 0);
        assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, open, 41), 0);
        assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, 41), 0);
    }
    assert_int_equal(zmq_connect(socket, weir_rpc_endpoint(fixture->server)), 0);
    return socket;
}

static void whoever_knows_only_the_port_is_not_heard(void **state)
{
    struct fixture *fixture = *state;
    void *stranger = knock(fixture, NULL);
    send_credit(stranger);
    expect_strangers(fixture, 1, 0);
    expect_answer(fixture);
    zmq_close(stranger);
}

static void a_key_of_another_server_opens_nothing(void **state)
{
    struct fixture *fixture = *state;
    char other[41], secret[41];
    assert_int_equal(zmq_curve_keypair(other, secret), 0);
    void *stranger = knock(fixture, other);
    send_credit(stranger);
    expect_strangers(fixture, 1, 0);
    expect_answer(fixture);
    zmq_close(stranger);
}

static void an_address_without_its_key_leads_nowhere(void **state)
{
    struct fixture *fixture = *state;
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err;
    const char *endpoint = weir_rpc_endpoint(fixture->server);
    assert_int_equal(weir_rpc_connect(fixture->loop, endpoint, NULL, NULL, &peer, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "expected the address that the process there goes by"));
    assert_int_equal(
        weir_rpc_connect(fixture->loop, "tcp://127.0.0.1:1#short", NULL, NULL, &peer, &err),
        WEIR_INVALID);
}

static void what_people_see_of_an_address_is_not_its_key(void **state)
{
    struct fixture *fixture = *state;
    assert_non_null(strchr(weir_rpc_address(fixture->server), '#'));
    assert_null(strchr(weir_rpc_endpoint(fixture->server), '#'));
    assert_null(strchr(weir_rpc_peer_endpoint(fixture->peer), '#'));
}

static void a_connection_that_says_nothing_costs_nobody_anything(void **state)
{
    enum { SILENT = 200 };
    struct fixture *fixture = *state;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(port_of(weir_rpc_endpoint(fixture->server)))};
    int silent[SILENT];
    for (int i = 0; i < SILENT; i++) {
        silent[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(silent[i], (struct sockaddr *)&address, sizeof(address)), 0);
    }
    for (int i = 0; i < 10; i++)
        expect_answer(fixture);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
}

/* ---- the port of a process that is gone ---- */

/* The server ends; another process of this host, with keys of its own, takes its port. */
static void take_over(struct fixture *fixture)
{
    struct weir_error err = {0};
    WEIR_AUTO_FREE char *endpoint = weir_strdup(weir_rpc_endpoint(fixture->server));
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    weir_rpc_server_close(fixture->server);
    fixture->server = NULL;
    enum weir_status status;
    do
        status = weir_rpc_serve(fixture->loop, endpoint, SERVED, fixture, &fixture->server, &err);
    while (status != WEIR_OK && weir_now_ms() < limit_ms); /* ZeroMQ closes it a moment later */
    assert_int_equal(status, WEIR_OK);
}

static void whoever_takes_over_the_port_with_other_keys_is_told_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct msg_credit credit = {.session = SECRET, .granted = 1};
    expect_answer(fixture);
    fixture->served = 0;
    take_over(fixture);
    weir_rpc_send(fixture->peer, MSG_credit, &credit);
    expect_strangers(fixture, 2, 0); /* the peer tries, in vain, more than once */
}

/* ---- bytes on their way ---- */

static void connect_through(struct fixture *fixture, struct relay *relay)
{
    struct weir_error err;
    const char *address = weir_rpc_address(fixture->server);
    WEIR_AUTO_FREE char *through =
        weir_format("tcp://127.0.0.1:%u%s", (unsigned)relay->port, strchr(address, '#'));
    weir_rpc_peer_close(fixture->peer);
    assert_int_equal(
        weir_rpc_connect(fixture->loop, through, PUSHED, fixture, &fixture->peer, &err), WEIR_OK);
    relay->from = accept(relay->listener, NULL, NULL);
    relay->to = open_connection(port_of(weir_rpc_endpoint(fixture->server)));
}

static bool holds(const struct relay *relay, uint64_t number)
{
    uint8_t packed[sizeof(number)];
    for (size_t i = 0; i < sizeof(packed); i++)
        packed[i] = (uint8_t)(number >> (56 - 8 * i)); /* as msgpack writes it */
    return memmem(relay->record, relay->size, packed, sizeof(packed)) != NULL;
}

static void recorded_messages_cannot_be_read_nor_said_again(void **state)
{
    struct fixture *fixture = *state;
    struct msg_credit credit = {.session = SECRET, .granted = 1};
    WEIR_AUTO_FREE struct relay *relay = weir_calloc(1, sizeof(*relay));
    open_relay(relay);
    connect_through(fixture, relay);
    weir_rpc_send(fixture->peer, MSG_credit, &credit);
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (fixture->served == 0 && weir_now_ms() < limit_ms) {
        pass_on(relay);
        weir_loop_step(fixture->loop, 1);
    }
    assert_int_equal(fixture->served, 1);
    assert_false(holds(relay, SECRET));
    int again = open_connection(port_of(weir_rpc_endpoint(fixture->server)));
    assert_int_equal(write(again, relay->record, relay->size), relay->size);
    expect_strangers(fixture, 1, 1);
    close(again);
    close(relay->from);
    close(relay->to);
    close(relay->listener);
}

/* However few sockets a process may have, and wherever they run out. */
static void a_server_without_sockets_to_spare_is_refused(void **state)
{
    static const struct weir_rpc_handler NONE[] = {{.type = MSG_none}};
    (void)state;
    for (int most = 0; most < 3; most++) {
        struct weir_loop *loop = weir_loop_new();
        struct weir_rpc_server *server = NULL;
        struct weir_error err;
        assert_int_equal(zmq_ctx_set(weir_loop_zmq(loop), ZMQ_MAX_SOCKETS, most + 1), 0);
        void *taken = zmq_socket(weir_loop_zmq(loop), ZMQ_PAIR);
        assert_non_null(taken);
        assert_int_equal(weir_rpc_serve(loop, "tcp://127.0.0.1:*", NONE, NULL, &server, &err),
                         WEIR_LIMIT);
        assert_non_null(strstr(err.text, "Too many open files"));
        zmq_close(taken);
        weir_loop_free(loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_without_sockets_to_spare_is_refused),
        TCP(whoever_knows_only_the_port_is_not_heard),
        TCP(a_key_of_another_server_opens_nothing),
        TCP(an_address_without_its_key_leads_nowhere),
        TCP(what_people_see_of_an_address_is_not_its_key),
        TCP(a_connection_that_says_nothing_costs_nobody_anything),
        TCP(whoever_takes_over_the_port_with_other_keys_is_told_nothing),
        TCP(recorded_messages_cannot_be_read_nor_said_again),
    };
    return cmocka_run_group_tests_name("rpc_keys", tests, NULL, NULL);
}
