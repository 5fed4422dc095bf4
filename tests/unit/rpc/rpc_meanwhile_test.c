/* A server whose handlers wait: what it answers meanwhile, and what it keeps for afterwards. */
#include "core/rpc/kept.h"
#include "tests/unit/rpc/rpc_fixture.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Handlers of `health` wait until a `read` has come; other requests for health come first. */
struct numbered;
struct waiting {
    struct fixture *fixture;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    int over;         /* readable: the wait is over */
    char seen[32];    /* what was begun, and ended, in order */
    uint64_t session; /* of the newest health that is answered */
    int answers;
    bool is_read;
    struct numbered *late; /* asked for once the wait is over; NULL: none is */
};

/* A request for `health`, and which one it was for the handler. */
struct numbered {
    uint64_t session; /* 0: it is not answered */
};

static void on_numbered(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct numbered *numbered = owner;
    assert_null(err);
    numbered->session = ((const struct msg_health_is *)reply->message)->session;
}

static void ask_numbered(const struct waiting *waiting, struct numbered *numbered)
{
    weir_rpc_call(waiting->peer, MSG_health, NULL, LONG_MS, on_numbered, numbered);
}

static void see(struct waiting *waiting, char what)
{
    size_t end = strlen(waiting->seen);
    assert_true(end + 1 < sizeof(waiting->seen));
    waiting->seen[end] = what;
}

static void on_waiting_health(void *owner, struct weir_request *request)
{
    struct waiting *waiting = owner;
    const struct msg_health_is answer = {.name = "storage", .session = ++waiting->session};
    const struct weir_route route = request->route;
    see(waiting, '(');
    if (!waiting->is_read)
        assert_true(weir_loop_wait(waiting->fixture->loop, waiting->over, POLLIN, LONG_MS));
    see(waiting, ')');
    if (waiting->late != NULL)
        ask_numbered(waiting, WEIR_TAKE(waiting->late));
    assert_true(weir_route_is_of_request(&route, &request->route));
    weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
}

static void on_waiting_read(void *owner, struct weir_request *request)
{
    (void)owner;
    (void)request;
    fail(); /* it is answered meanwhile */
}

static bool on_meanwhile(void *owner, struct weir_request *request)
{
    struct waiting *waiting = owner;
    const struct msg_read *asked = request->message;
    see(waiting, request->type == MSG_read ? 'r' : 'k');
    if (request->type != MSG_read)
        return false;
    assert_int_equal(asked->ids.count, 2);
    assert_int_equal(asked->ids.at[1], 12);
    waiting->is_read = true;
    assert_int_equal(eventfd_write(waiting->over, 1), 0);
    weir_rpc_reply(request->server, &request->route, MSG_read_is, &(struct msg_read_is){.epoch = 3},
                   NULL);
    return true;
}

static const struct weir_rpc_handler WAITING[] = {
    WEIR_ON(health, on_waiting_health), WEIR_ON(read, on_waiting_read), {MSG_none, NULL}};

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct waiting *waiting = owner;
    assert_null(err);
    assert_non_null(reply);
    waiting->answers++;
}

static struct waiting *begin(void **state)
{
    struct waiting *waiting = weir_calloc(1, sizeof(*waiting));
    struct weir_error err;
    waiting->fixture = *state;
    waiting->over = eventfd(0, EFD_CLOEXEC);
    struct weir_loop *loop = waiting->fixture->loop;
    assert_int_equal(
        weir_rpc_serve(loop, "inproc://waiting", WAITING, waiting, &waiting->server, &err),
        WEIR_OK);
    weir_rpc_serve_meanwhile(waiting->server, on_meanwhile);
    assert_int_equal(weir_rpc_connect(loop, "inproc://waiting", NULL, NULL, &waiting->peer, &err),
                     WEIR_OK);
    return waiting;
}

static void end(struct waiting *waiting)
{
    weir_rpc_peer_close(waiting->peer);
    weir_rpc_server_close(waiting->server);
    close(waiting->over);
    free(waiting);
}

static void ask_for(struct waiting *waiting, enum weir_message type)
{
    static const uint64_t IDS[] = {11, 12};
    const struct msg_read read = {.ids = {IDS, 2}};
    weir_rpc_call(waiting->peer, type, type == MSG_read ? &read : NULL, LONG_MS, on_answer,
                  waiting);
}

static void await_answers(struct waiting *waiting, int count)
{
    while (waiting->answers < count)
        weir_loop_step(waiting->fixture->loop, TEST_STEP_MS);
}

static void what_needs_nobody_is_answered_while_a_handler_waits(void **state)
{
    struct waiting *waiting = begin(state);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_read);
    await_answers(waiting, 2);
    assert_string_equal(waiting->seen, "(r)");
    end(waiting);
}

static void what_has_to_wait_is_handled_afterwards_in_its_order(void **state)
{
    struct waiting *waiting = begin(state);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_read);
    await_answers(waiting, 4);
    assert_string_equal(waiting->seen, "(kkr)()()");
    end(waiting);
}

static void what_has_waited_is_handled_before_what_comes_later(void **state)
{
    struct numbered first = {0}, second = {0}, late = {0};
    struct waiting *waiting = begin(state);
    waiting->late = &late;
    ask_numbered(waiting, &first);
    ask_numbered(waiting, &second);
    ask_for(waiting, MSG_read);
    while (first.session == 0 || second.session == 0 || late.session == 0)
        weir_loop_step(waiting->fixture->loop, TEST_STEP_MS);
    assert_int_equal(first.session, 1);
    assert_int_equal(second.session, 2);
    assert_int_equal(late.session, 3);
    end(waiting);
}

static void a_server_that_closes_drops_what_it_has_kept(void **state)
{
    struct waiting *waiting = begin(state);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_health);
    ask_for(waiting, MSG_read);
    while (!waiting->is_read)
        weir_loop_step(waiting->fixture->loop, 0);
    end(waiting);
}

/* ---- what is kept ---- */

static struct weir_kept_message *message_of(uint64_t request, size_t bytes)
{
    struct weir_kept_message *message = weir_kept_message_new();
    message->parts.route.request = request;
    message->parts.bytes = bytes;
    return message;
}

static bool keeps(struct weir_kept *kept, uint64_t request, size_t bytes)
{
    struct weir_kept_message *message = message_of(request, bytes);
    bool is_kept = weir_kept_add(kept, message);
    if (!is_kept)
        weir_kept_message_free(message);
    return is_kept;
}

static void one_copy_of_a_request_is_kept(void **state)
{
    struct weir_kept kept;
    (void)state;
    weir_kept_init(&kept);
    assert_true(keeps(&kept, 1, 10));
    assert_false(keeps(&kept, 1, 10));
    assert_true(keeps(&kept, 2, 10));
    assert_true(keeps(&kept, 0, 10)); /* one-way messages have no number */
    assert_true(keeps(&kept, 0, 10));
    for (uint64_t i = 0; i < 2; i++) {
        WEIR_AUTO(weir_kept_message) message = weir_kept_take(&kept);
        assert_int_equal(message->parts.route.request, i + 1);
    }
    weir_kept_fini(&kept);
}

static void what_is_kept_is_bounded(void **state)
{
    struct weir_kept kept;
    (void)state;
    weir_kept_init(&kept);
    assert_true(keeps(&kept, 1, WEIR_KEPT_BYTES_MAX - 1));
    assert_false(keeps(&kept, 2, 2));
    assert_true(keeps(&kept, 2, 1));
    weir_kept_message_free(weir_kept_take(&kept));
    for (uint64_t i = 3; i <= WEIR_KEPT_MAX + 1; i++)
        assert_true(keeps(&kept, i, 1));
    assert_false(keeps(&kept, 1, 1));
    weir_kept_fini(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INPROC(what_needs_nobody_is_answered_while_a_handler_waits),
        INPROC(what_has_to_wait_is_handled_afterwards_in_its_order),
        INPROC(what_has_waited_is_handled_before_what_comes_later),
        INPROC(a_server_that_closes_drops_what_it_has_kept),
        cmocka_unit_test(one_copy_of_a_request_is_kept),
        cmocka_unit_test(what_is_kept_is_bounded),
    };
    return cmocka_run_group_tests_name("rpc: meanwhile", tests, NULL, NULL);
}
