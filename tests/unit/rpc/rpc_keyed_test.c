/* A server that is reached from elsewhere: who is let in, held to what, and for how long. Strangers, thieves and
 * listeners speak through sockets of ZeroMQ's own. */
#include "core/base/memory.h"
#include "core/rpc/envelope.h"
#include "core/rpc/rpc.h"
#include "tests/support/loop.h"
#include "tests/unit/rpc/relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

enum { ANNA, BEN, CARL, PEOPLE, LONG_MS = 60000, ROUNDS = 60 };

static const char *const NAMES[PEOPLE] = {"anna", "ben", "carl"};

struct lab {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_pair own, pair[PEOPLE];
    uint64_t number; /* of the newest keyring */
    struct weir_rpc_peer *peer;
    /* Seen last by the server. */
    int served;
    struct weir_route route;
    enum weir_role role;
    char name[32], tenant[32];
    int refusals;
    char refused[32], refused_name[32], refused_key[WEIR_KEY_CHARACTERS + 1];
    /* Heard by the peer. */
    bool done;
    enum weir_status status;
    char text[WEIR_ERROR_TEXT_MAX];
    uint64_t batch;
};

static void note(struct lab *lab, const struct weir_request *request)
{
    const struct weir_sender *sender = weir_rpc_sender(request);
    lab->served++;
    lab->route = request->route;
    lab->role = sender->role;
    snprintf(lab->name, sizeof(lab->name), "%s", sender->name);
    snprintf(lab->tenant, sizeof(lab->tenant), "%s", sender->tenant);
    assert_int_equal(weir_rpc_role(request), sender->role);
}

static void on_health(void *owner, struct weir_request *request)
{
    const struct msg_health_is answer = {.name = "storage"};
    note(owner, request);
    weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
}

static void on_locate(void *owner, struct weir_request *request)
{
    const struct msg_located answer = {.epoch = 1};
    note(owner, request);
    weir_rpc_reply(request->server, &request->route, MSG_located, &answer, NULL);
}

static void on_credit(void *owner, struct weir_request *request)
{
    note(owner, request);
}

static const struct weir_rpc_handler SERVED[] = {WEIR_ON(health, on_health),
                                                 WEIR_ON(locate, on_locate),
                                                 WEIR_ON(credit, on_credit),
                                                 {MSG_none, NULL}};

static void on_batch(void *owner, struct weir_request *request)
{
    struct lab *lab = owner;
    lab->batch = ((const struct msg_batch *)request->message)->batch;
}
static const struct weir_rpc_handler PUSHED[] = {WEIR_ON(batch, on_batch), {MSG_none, NULL}};

static void on_refusal(void *owner, const struct weir_refusal *refusal)
{
    struct lab *lab = owner;
    lab->refusals++;
    snprintf(lab->refused, sizeof(lab->refused), "%s", refusal->message);
    snprintf(lab->refused_key, sizeof(lab->refused_key), "%s", refusal->public);
    snprintf(lab->refused_name, sizeof(lab->refused_name), "%s",
             refusal->sender != NULL ? refusal->sender->name : "");
}

/* Lets in whoever has a role. */
static void let_in(struct lab *lab, uint32_t anna, uint32_t ben, uint32_t carl)
{
    const uint32_t all[PEOPLE] = {anna, ben, carl};
    const char *publics[PEOPLE], *names[PEOPLE], *tenants[PEOPLE];
    uint32_t roles[PEOPLE];
    size_t count = 0;
    for (size_t i = 0; i < PEOPLE; i++) {
        if (all[i] == 0)
            continue;
        publics[count] = lab->pair[i].public;
        names[count] = NAMES[i];
        tenants[count] = i == BEN ? "red" : "";
        roles[count++] = all[i];
    }
    const struct msg_keys_set keys = {
        ++lab->number, {publics, count}, {names, count}, {roles, count}, {tenants, count}};
    assert_int_equal(weir_rpc_set_keys(lab->server, &keys, NULL), WEIR_OK);
    assert_int_equal(weir_rpc_keyring(lab->server)->number, lab->number);
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    struct weir_error err;
    lab->loop = weir_loop_new();
    lab->server = weir_rpc_server_new(lab->loop, SERVED, lab);
    assert_int_equal(weir_pair_draw(&lab->own, &err), WEIR_OK);
    for (size_t i = 0; i < PEOPLE; i++)
        assert_int_equal(weir_pair_draw(&lab->pair[i], &err), WEIR_OK);
    const struct weir_rpc_door door = {.endpoint = "tcp://127.0.0.1:*", .pair = &lab->own};
    assert_int_equal(weir_rpc_listen_keyed(lab->server, &door, &err), WEIR_OK);
    weir_rpc_on_refusal(lab->server, on_refusal, lab);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    weir_rpc_peer_close(lab->peer);
    weir_rpc_server_close(lab->server);
    weir_loop_free(lab->loop);
    free(lab);
    return 0;
}

static void connect_peer(struct lab *lab, int who)
{
    struct weir_error err;
    weir_rpc_peer_close(lab->peer);
    assert_int_equal(weir_rpc_connect_as(lab->loop, weir_rpc_address(lab->server), &lab->pair[who],
                                         PUSHED, lab, &lab->peer, &err),
                     WEIR_OK);
}

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct lab *lab = owner;
    lab->done = true;
    lab->status = reply != NULL ? WEIR_OK : err->status;
    snprintf(lab->text, sizeof(lab->text), "%s", reply != NULL ? "" : err->text);
}

static enum weir_status ask(struct lab *lab, enum weir_message type)
{
    static const uint64_t EMPTY[64];
    lab->done = false;
    weir_rpc_call(lab->peer, type, EMPTY, LONG_MS, on_done, lab);
    test_loop_until(lab->loop, &lab->done);
    return lab->status;
}

/* Runs until `value` is at least `least`. */
static void run_until(struct lab *lab, const int *value, int least)
{
    for (int64_t limit = weir_now_ms() + TEST_PATIENCE_MS; *value < least;) {
        assert_true(weir_now_ms() < limit);
        weir_loop_step(lab->loop, 1);
    }
}

/* ---- sockets that do as they like ---- */

static void *enter(struct lab *lab, int who, const char *identity)
{
    static const int NO_LINGER = 0;
    const struct weir_pair *pair = &lab->pair[who];
    void *socket = zmq_socket(weir_loop_zmq(lab->loop), ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &NO_LINGER, sizeof(NO_LINGER)), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, lab->own.public, 41), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, 41), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, 41), 0);
    if (identity != NULL)
        assert_int_equal(zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, strlen(identity)), 0);
    assert_int_equal(zmq_connect(socket, weir_rpc_endpoint(lab->server)), 0);
    return socket;
}

static void send_credit(void *socket)
{
    uint8_t envelope[WEIR_ENVELOPE_BYTES];
    WEIR_AUTO_BUF header = {0};
    const struct msg_credit credit = {.granted = 1};
    weir_envelope_pack(&(struct weir_envelope){.type = MSG_credit}, envelope);
    weir_message_pack(MSG_credit, &credit, &header);
    (void)zmq_send(socket, envelope, sizeof(envelope), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    (void)zmq_send(socket, header.at, header.size, ZMQ_DONTWAIT);
}

static bool push(struct lab *lab, const struct weir_route *route, uint64_t number)
{
    const struct msg_batch batch = {.batch = number};
    return weir_rpc_push(lab->server, route, MSG_batch, &batch, NULL);
}

static bool hears(struct lab *lab, void *socket)
{
    uint8_t bytes[64];
    bool has_heard = false;
    for (int i = 0; i < ROUNDS && !has_heard; i++) {
        weir_loop_step(lab->loop, 1);
        has_heard = zmq_recv(socket, bytes, sizeof(bytes), ZMQ_DONTWAIT) >= 0;
    }
    return has_heard;
}

/* ---- who is let in ---- */

static void until_there_is_a_list_nobody_is_let_in_and_nobody_sent_away(void **state)
{
    struct lab *lab = *state;
    connect_peer(lab, ANNA);
    lab->done = false;
    weir_rpc_call(lab->peer, MSG_health, &lab->number, LONG_MS, on_done, lab);
    test_loop_rounds(lab->loop, ROUNDS);
    assert_int_equal(lab->served, 0);
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    test_loop_until(lab->loop, &lab->done);
    assert_int_equal(lab->status, WEIR_OK);
    assert_int_equal(lab->refusals, 0);
}

static void a_handler_is_told_role_name_and_tenant_of_the_key(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_WORKER, WEIR_ROLE_SUBMITTER, 0);
    connect_peer(lab, BEN);
    assert_int_equal(ask(lab, MSG_health), WEIR_OK);
    assert_int_equal(lab->role, WEIR_ROLE_SUBMITTER);
    assert_string_equal(lab->name, "ben");
    assert_string_equal(lab->tenant, "red");
    connect_peer(lab, ANNA);
    assert_int_equal(ask(lab, MSG_locate), WEIR_OK);
    assert_int_equal(lab->role, WEIR_ROLE_WORKER);
    assert_string_equal(lab->name, "anna");
    assert_string_equal(lab->tenant, "");
}

static void a_key_that_is_on_no_list_is_refused_in_words(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    connect_peer(lab, BEN);
    assert_int_equal(ask(lab, MSG_health), WEIR_DENIED);
    assert_non_null(strstr(lab->text, "does not let this key in"));
    assert_non_null(strstr(lab->text, weir_rpc_endpoint(lab->server)));
    assert_int_equal(lab->served, 0);
    assert_true(lab->refusals > 0);
    assert_string_equal(lab->refused, "handshake");
    assert_string_equal(lab->refused_key, lab->pair[BEN].public);
}

static void who_leaves_before_the_end_of_a_handshake_is_no_stranger(void **state)
{
    enum { COME_AND_GONE = 20 };
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    for (int i = 0; i < COME_AND_GONE; i++)
        close(open_connection(port_of(weir_rpc_endpoint(lab->server))));
    connect_peer(lab, BEN); /* he is one, as often as he comes */
    assert_int_equal(ask(lab, MSG_health), WEIR_DENIED);
    assert_in_range(weir_rpc_strangers(lab->server), 1, lab->refusals);
    assert_true(lab->refusals < COME_AND_GONE);
}

static void a_key_that_is_let_in_later_need_not_connect_again(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    connect_peer(lab, BEN);
    assert_int_equal(ask(lab, MSG_health), WEIR_DENIED);
    let_in(lab, WEIR_ROLE_VIEWER, WEIR_ROLE_VIEWER, 0);
    assert_int_equal(ask(lab, MSG_health), WEIR_OK);
}

static void a_right_key_with_the_wrong_role_is_refused_by_name(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    connect_peer(lab, ANNA);
    assert_int_equal(ask(lab, MSG_locate), WEIR_DENIED);
    assert_non_null(strstr(lab->text, "message locate (0x010b) is not for a viewer to send"));
    assert_int_equal(lab->served, 0);
    assert_string_equal(lab->refused, "locate");
    assert_string_equal(lab->refused_name, "anna");
    assert_int_equal(ask(lab, MSG_health), WEIR_OK); /* it stays */
}

static void a_role_is_that_of_the_list_of_now(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    connect_peer(lab, ANNA);
    assert_int_equal(ask(lab, MSG_locate), WEIR_DENIED);
    let_in(lab, WEIR_ROLE_WORKER, 0, 0);
    assert_int_equal(ask(lab, MSG_locate), WEIR_OK);
    let_in(lab, WEIR_ROLE_TRAINER, 0, 0);
    assert_int_equal(ask(lab, MSG_locate), WEIR_DENIED);
}

static void another_servers_secret_does_not_pass_for_this_one(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    WEIR_AUTO_FREE char *address =
        weir_format("%s#%s", weir_rpc_endpoint(lab->server), lab->pair[BEN].public);
    assert_int_equal(
        weir_rpc_connect_as(lab->loop, address, &lab->pair[ANNA], NULL, lab, &lab->peer, &err),
        WEIR_OK);
    lab->done = false;
    weir_rpc_call(lab->peer, MSG_health, &lab->number, 300, on_done, lab);
    test_loop_until(lab->loop, &lab->done);
    assert_int_equal(lab->status, WEIR_TIMEOUT);
    assert_int_equal(lab->served, 0);
}

/* ---- for how long ---- */

static void a_key_that_is_revoked_is_refused_from_then_on(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_WORKER, WEIR_ROLE_WORKER, 0);
    connect_peer(lab, ANNA);
    assert_int_equal(ask(lab, MSG_locate), WEIR_OK);
    let_in(lab, 0, WEIR_ROLE_WORKER, 0);
    int served = lab->served;
    assert_int_equal(ask(lab, MSG_locate), WEIR_DENIED);
    assert_int_equal(lab->served, served);
    connect_peer(lab, BEN);
    assert_int_equal(ask(lab, MSG_locate), WEIR_OK);
}

static void who_only_listens_is_told_nothing_more_once_revoked(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    connect_peer(lab, ANNA);
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = 1});
    run_until(lab, &lab->served, 1);
    const struct weir_route route = lab->route;
    assert_true(push(lab, &route, 1));
    while (lab->batch != 1)
        weir_loop_step(lab->loop, 1);
    let_in(lab, 0, WEIR_ROLE_TRAINER, 0);
    assert_false(push(lab, &route, 2));
    /* Back on the list, it comes by another connection: what was meant for the old one stays unsaid. */
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    test_loop_rounds(lab->loop, ROUNDS);
    assert_false(push(lab, &route, 3));
    assert_int_equal(lab->batch, 1);
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = 1});
    run_until(lab, &lab->served, 2);
    assert_true(push(lab, &lab->route, 4));
}

/* True once the socket has heard of the event. */
static bool has_happened(struct lab *lab, void *events, uint16_t event)
{
    for (int64_t limit = weir_now_ms() + TEST_PATIENCE_MS; weir_now_ms() < limit;) {
        uint8_t bytes[64];
        weir_loop_step(lab->loop, 1);
        if (zmq_recv(events, bytes, sizeof(bytes), ZMQ_DONTWAIT) == 6 &&
            memcmp(bytes, &event, sizeof(event)) == 0)
            return true;
    }
    return false;
}

static void *watch(struct lab *lab, void *socket)
{
    void *events = zmq_socket(weir_loop_zmq(lab->loop), ZMQ_PAIR);
    assert_int_equal(zmq_socket_monitor(socket, "inproc://seen", ZMQ_EVENT_ALL), 0);
    assert_int_equal(zmq_connect(events, "inproc://seen"), 0);
    return events;
}

static void a_connection_that_has_never_said_a_word_is_cut_when_a_key_goes(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    void *silent = enter(lab, ANNA, NULL);
    void *events = watch(lab, silent);
    assert_true(has_happened(lab, events, ZMQ_EVENT_HANDSHAKE_SUCCEEDED));
    let_in(lab, 0, WEIR_ROLE_TRAINER, 0);
    assert_true(has_happened(lab, events, ZMQ_EVENT_DISCONNECTED));
    zmq_close(events);
    zmq_close(silent);
}

static void who_stays_on_the_list_is_not_cut_when_another_key_goes(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    connect_peer(lab, BEN);
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = 1});
    run_until(lab, &lab->served, 1);
    const struct weir_route route = lab->route;
    let_in(lab, 0, WEIR_ROLE_TRAINER, 0);
    test_loop_rounds(lab->loop, ROUNDS);
    assert_true(push(lab, &route, 7));
    while (lab->batch != 7)
        weir_loop_step(lab->loop, 1);
}

/* ---- thieves ---- */

static void nobody_takes_the_route_of_another_key(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    void *victim = enter(lab, ANNA, "me");
    send_credit(victim);
    run_until(lab, &lab->served, 1);
    const struct weir_route route = lab->route;
    assert_string_equal(lab->name, "anna");
    void *thief = enter(lab, BEN, "me");
    send_credit(thief);
    assert_false(hears(lab, thief));
    assert_true(push(lab, &route, 1));
    assert_true(hears(lab, victim));
    assert_false(hears(lab, thief));
    zmq_close(victim);
    zmq_close(thief);
}

static void the_route_of_who_is_gone_leads_to_nobody_else(void **state)
{
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER, 0);
    void *victim = enter(lab, ANNA, "me");
    send_credit(victim);
    run_until(lab, &lab->served, 1);
    const struct weir_route route = lab->route;
    zmq_close(victim);
    int served = lab->served;
    void *thief = NULL;
    for (int tries = 0; lab->served == served; tries++) { /* until the name is free */
        assert_true(tries < 1000);
        if (thief != NULL)
            zmq_close(thief);
        thief = enter(lab, BEN, "me");
        send_credit(thief);
        test_loop_rounds(lab->loop, ROUNDS);
    }
    assert_string_equal(lab->name, "ben");
    assert_false(push(lab, &route, 1));
    assert_false(hears(lab, thief));
    assert_true(push(lab, &lab->route, 2));
    assert_true(hears(lab, thief));
    zmq_close(thief);
}

/* ---- what was recorded ---- */

static void run_through(struct lab *lab, struct relay *relay, int least)
{
    for (int64_t limit = weir_now_ms() + TEST_PATIENCE_MS; lab->served < least;) {
        assert_true(weir_now_ms() < limit);
        pass_on(relay);
        weir_loop_step(lab->loop, 1);
    }
}

/* Anna's peer speaks by way of the relay, and is heard once. */
static void begin_relayed(struct lab *lab, struct relay *relay)
{
    struct weir_error err;
    open_relay(relay);
    WEIR_AUTO_FREE char *through =
        weir_format("tcp://127.0.0.1:%u#%s", (unsigned)relay->port, lab->own.public);
    assert_int_equal(
        weir_rpc_connect_as(lab->loop, through, &lab->pair[ANNA], PUSHED, lab, &lab->peer, &err),
        WEIR_OK);
    relay->from = accept(relay->listener, NULL, NULL);
    relay->to = open_connection(port_of(weir_rpc_endpoint(lab->server)));
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = 1});
    run_through(lab, relay, 1);
}

static void end_relayed(struct relay *relay)
{
    close(relay->from);
    close(relay->to);
    close(relay->listener);
}

/* Bytes that the peer says next, kept by the relay instead of passed on. */
static struct weir_bytes hold_back(struct lab *lab, struct relay *relay)
{
    size_t begin = relay->size;
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = begin});
    for (int i = 0; i < ROUNDS; i++) {
        weir_loop_step(lab->loop, 1);
        if (!is_readable(relay->from))
            continue;
        ssize_t got = read(relay->from, relay->record + relay->size, RECORD_BYTES - relay->size);
        relay->size += got > 0 ? (size_t)got : 0;
    }
    assert_true(relay->size > begin);
    return weir_bytes(relay->record + begin, relay->size - begin);
}

static void say(int fd, struct weir_bytes bytes)
{
    assert_int_equal(send(fd, bytes.at, bytes.size, MSG_NOSIGNAL), bytes.size);
}

/* The server has ended the connection: reading finds its end. */
static void assert_is_cut(struct lab *lab, int fd)
{
    uint8_t bytes[4096];
    for (int64_t limit = weir_now_ms() + TEST_PATIENCE_MS;;) {
        assert_true(weir_now_ms() < limit);
        weir_loop_step(lab->loop, 1);
        if (is_readable(fd) && read(fd, bytes, sizeof(bytes)) <= 0)
            return;
    }
}

static void a_recorded_conversation_says_nothing_when_it_is_played_again(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE struct relay *relay = weir_calloc(1, sizeof(*relay));
    let_in(lab, WEIR_ROLE_TRAINER, 0, 0);
    begin_relayed(lab, relay);
    int again = open_connection(port_of(weir_rpc_endpoint(lab->server)));
    say(again, weir_bytes(relay->record, relay->size));
    assert_is_cut(lab, again);
    assert_int_equal(lab->served, 1);
    weir_rpc_send(lab->peer, MSG_credit, &(struct msg_credit){.granted = 1});
    run_through(lab, relay, 2); /* whose it was is undisturbed */
    close(again);
    end_relayed(relay);
}

static void a_message_that_is_said_twice_is_heard_once_and_ends_the_connection(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE struct relay *relay = weir_calloc(1, sizeof(*relay));
    let_in(lab, WEIR_ROLE_TRAINER, 0, 0);
    begin_relayed(lab, relay);
    struct weir_bytes message = hold_back(lab, relay);
    say(relay->to, message);
    run_until(lab, &lab->served, 2);
    say(relay->to, message);
    assert_is_cut(lab, relay->to);
    assert_int_equal(lab->served, 2);
    end_relayed(relay);
}

static void messages_out_of_order_are_not_heard_and_end_the_connection(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE struct relay *relay = weir_calloc(1, sizeof(*relay));
    let_in(lab, WEIR_ROLE_TRAINER, 0, 0);
    begin_relayed(lab, relay);
    struct weir_bytes first = hold_back(lab, relay), second = hold_back(lab, relay);
    say(relay->to, second);
    say(relay->to, first);
    assert_is_cut(lab, relay->to);
    assert_true(lab->served <= 2);
    end_relayed(relay);
}

static void a_message_that_was_changed_on_its_way_ends_the_connection(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE struct relay *relay = weir_calloc(1, sizeof(*relay));
    let_in(lab, WEIR_ROLE_TRAINER, 0, 0);
    begin_relayed(lab, relay);
    struct weir_bytes message = hold_back(lab, relay);
    relay->record[message.at - relay->record + (ptrdiff_t)message.size - 1] ^= 1;
    say(relay->to, message);
    assert_is_cut(lab, relay->to);
    assert_int_equal(lab->served, 1);
    end_relayed(relay);
}

/* ---- beside others ---- */

static void a_socket_of_this_host_is_as_it_was(void **state)
{
    struct lab *lab = *state;
    struct weir_rpc_server *local = NULL;
    struct weir_error err;
    assert_int_equal(weir_rpc_serve(lab->loop, "tcp://127.0.0.1:*", SERVED, lab, &local, &err),
                     WEIR_OK);
    let_in(lab, 0, 0, 0);
    assert_int_equal(
        weir_rpc_connect(lab->loop, weir_rpc_address(local), NULL, NULL, &lab->peer, &err),
        WEIR_OK);
    assert_int_equal(ask(lab, MSG_locate), WEIR_OK);
    assert_int_equal(lab->role, WEIR_ROLE_PLATFORM);
    assert_string_equal(lab->name, "");
    weir_rpc_peer_close(lab->peer);
    lab->peer = NULL;
    weir_rpc_server_close(local);
}

static void an_address_names_the_host_that_is_advertised(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    WEIR_AUTO(weir_rpc_server) server = weir_rpc_server_new(loop, SERVED, lab);
    const struct weir_rpc_door door = {"tcp://0.0.0.0:*", "gpu-7.example", &lab->own};
    assert_int_equal(weir_rpc_listen_keyed(server, &door, &err), WEIR_OK);
    const char *address = weir_rpc_address(server);
    assert_int_equal(strncmp(address, "tcp://gpu-7.example:", 20), 0);
    assert_string_equal(strchr(address, '#') + 1, lab->own.public);
    assert_null(strchr(weir_rpc_endpoint(server), '#'));
}

static void a_second_server_with_keys_in_one_loop_is_refused(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    WEIR_AUTO(weir_rpc_server) server = weir_rpc_server_new(lab->loop, SERVED, lab);
    const struct weir_rpc_door door = {"tcp://127.0.0.1:*", NULL, &lab->own};
    assert_int_equal(weir_rpc_listen_keyed(server, &door, &err), WEIR_EXISTS);
    const struct weir_rpc_door local = {"ipc:///tmp/x", NULL, &lab->own};
    assert_int_equal(weir_rpc_listen_keyed(lab->server, &local, &err), WEIR_INVALID);
}

static void refusals_are_all_counted_and_told(void **state)
{
    enum { FLOOD = 200 };
    struct lab *lab = *state;
    let_in(lab, WEIR_ROLE_VIEWER, 0, 0);
    connect_peer(lab, ANNA);
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(ask(lab, MSG_locate), WEIR_DENIED);
    assert_int_equal(weir_rpc_turned_away(lab->server), FLOOD);
    assert_int_equal(lab->refusals,
                     FLOOD); /* one who is refused often hides nobody from an audit */
}

int main(void)
{
#define KEYED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        KEYED(until_there_is_a_list_nobody_is_let_in_and_nobody_sent_away),
        KEYED(a_handler_is_told_role_name_and_tenant_of_the_key),
        KEYED(a_key_that_is_on_no_list_is_refused_in_words),
        KEYED(who_leaves_before_the_end_of_a_handshake_is_no_stranger),
        KEYED(a_key_that_is_let_in_later_need_not_connect_again),
        KEYED(a_right_key_with_the_wrong_role_is_refused_by_name),
        KEYED(a_role_is_that_of_the_list_of_now),
        KEYED(another_servers_secret_does_not_pass_for_this_one),
        KEYED(a_key_that_is_revoked_is_refused_from_then_on),
        KEYED(who_only_listens_is_told_nothing_more_once_revoked),
        KEYED(a_connection_that_has_never_said_a_word_is_cut_when_a_key_goes),
        KEYED(who_stays_on_the_list_is_not_cut_when_another_key_goes),
        KEYED(nobody_takes_the_route_of_another_key),
        KEYED(the_route_of_who_is_gone_leads_to_nobody_else),
        KEYED(a_recorded_conversation_says_nothing_when_it_is_played_again),
        KEYED(a_message_that_is_said_twice_is_heard_once_and_ends_the_connection),
        KEYED(messages_out_of_order_are_not_heard_and_end_the_connection),
        KEYED(a_message_that_was_changed_on_its_way_ends_the_connection),
        KEYED(a_socket_of_this_host_is_as_it_was),
        KEYED(an_address_names_the_host_that_is_advertised),
        KEYED(a_second_server_with_keys_in_one_loop_is_refused),
        KEYED(refusals_are_all_counted_and_told),
    };
    return cmocka_run_group_tests_name("rpc_keyed", tests, NULL, NULL);
}
