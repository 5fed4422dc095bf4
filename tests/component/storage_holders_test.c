/* Storage as many holders see it: refusals in words, and hints that leave a few at a time. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/reading/use_leases.h"
#include "tests/component/storage_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CALL_MS = 30000, RENEW_MS = 500, HOLDERS = 3 * STORAGE_HINTS_AT_ONCE };

struct fixture {
    struct storage_inside inside;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *worker, *trainer, *elsewhere;
    size_t hints;
    size_t holds; /* answers to those of hold_all() */
    /* Of the newest request. */
    bool is_open;
    enum weir_status status;
    char words[512];
};

static void on_erased(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;

    (void)request;
    fixture->hints++;
}

static const struct weir_rpc_handler HINTS[] = {
    WEIR_ON(erased, on_erased),
    {MSG_none, NULL},
};

static struct weir_rpc_peer *reach(struct fixture *fixture, const char *name, enum weir_role role)
{
    WEIR_AUTO_FREE char *endpoint = weir_format("ipc://%s", temp_path(&fixture->inside.dir, name));
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err;

    assert_int_equal(weir_rpc_listen(fixture->server, endpoint, role, &err), WEIR_OK);
    assert_int_equal(weir_rpc_connect(fixture->inside.loop, endpoint, HINTS, fixture, &peer, &err),
                     WEIR_OK);
    return peer;
}

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct storage_inside *inside = &fixture->inside;

    storage_inside_begin(inside);
    fixture->server = weir_rpc_server_new(inside->loop, STORAGE_HANDLERS, inside->storage);
    fixture->worker = reach(fixture, "platform.sock", WEIR_ROLE_PLATFORM);
    fixture->trainer = reach(fixture, "trainers.sock", WEIR_ROLE_TRAINER);
    fixture->elsewhere = reach(fixture, "elsewhere.sock", WEIR_ROLE_WORKER);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    weir_rpc_peer_close(fixture->worker);
    weir_rpc_peer_close(fixture->trainer);
    weir_rpc_peer_close(fixture->elsewhere);
    weir_rpc_server_close(fixture->server);
    storage_inside_end(&fixture->inside);
    free(fixture);
    return 0;
}

static void on_held(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;

    fixture->is_open = false;
    fixture->status = reply != NULL ? WEIR_OK : err->status;
    (void)snprintf(fixture->words, sizeof(fixture->words), "%s", reply != NULL ? "" : err->text);
}

static enum weir_status ask(struct fixture *fixture, struct weir_rpc_peer *peer, uint64_t session)
{
    fixture->is_open = true;
    weir_rpc_call(peer, MSG_hold, &(struct msg_hold){.holder = "somebody", .session = session},
                  CALL_MS, on_held, fixture);
    while (fixture->is_open)
        weir_loop_step(fixture->inside.loop, TEST_STEP_MS);
    return fixture->status;
}

/* Holders, each under a key of its own, that renew so quickly that no lease is over before the next request. */
static void fill(struct fixture *fixture, size_t count, enum use_kind kind)
{
    for (uint64_t session = 1; session <= count; session++) {
        WEIR_AUTO_FREE char *key = weir_format("key-%lu", session);
        const struct use_request asked = {.session = session, .kind = kind, .key = key};
        struct use_grant grant;
        struct weir_error err;

        assert_int_equal(storage_leases_hold(fixture->inside.storage->leases, &asked, weir_now_ms(),
                                             &grant, &err),
                         WEIR_OK);
    }
}

static void one_holder_too_many_is_refused_in_words(void **state)
{
    const struct use_request ended = {.session = 17, .key = "key-17"};
    struct fixture *fixture = *state;

    fill(fixture, STORAGE_HOLDERS_MAX, USE_OF_PLATFORM);
    assert_int_equal(ask(fixture, fixture->worker, UINT64_MAX), WEIR_LIMIT);
    assert_string_equal(fixture->words, "32768 use leases are running, as many as there can be: "
                                        "expected that one ends before another begins");
    assert_int_equal(storage_leases_hold_end(fixture->inside.storage->leases, &ended, NULL),
                     WEIR_OK);
    assert_int_equal(ask(fixture, fixture->worker, UINT64_MAX), WEIR_OK);
}

static void trainers_that_hold_too_much_leave_room_for_workers(void **state)
{
    struct fixture *fixture = *state;

    fill(fixture, STORAGE_TRAINERS_MAX, USE_OF_TRAINER);
    assert_int_equal(ask(fixture, fixture->trainer, UINT64_MAX), WEIR_LIMIT);
    assert_string_equal(fixture->words, "8192 use leases of trainers are running, as many as there "
                                        "can be: expected that one ends before another begins");
    assert_int_equal(ask(fixture, fixture->worker, UINT64_MAX), WEIR_OK);
    assert_int_equal(ask(fixture, fixture->elsewhere, UINT64_MAX - 1), WEIR_OK);
}

static void workers_elsewhere_are_more_than_trainers_can_be(void **state)
{
    struct fixture *fixture = *state;

    fill(fixture, STORAGE_TRAINERS_MAX, USE_OF_WORKER_ELSEWHERE);
    assert_int_equal(ask(fixture, fixture->elsewhere, UINT64_MAX), WEIR_OK);
    assert_int_equal(ask(fixture, fixture->trainer, UINT64_MAX - 1), WEIR_OK);
}

static void on_one_of_all(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;

    (void)err;
    fixture->holds += reply != NULL;
}

/* All renew, and nobody has dropped anything. */
static void hold_all(struct fixture *fixture)
{
    for (uint64_t session = 1; session <= HOLDERS; session++)
        weir_rpc_call(fixture->worker, MSG_hold,
                      &(struct msg_hold){.holder = "somebody", .session = session}, CALL_MS,
                      on_one_of_all, fixture);
}

/* They renew until `*count` is HOLDERS. */
static void await_all(struct fixture *fixture, const size_t *count)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS, renew_ms = 0;

    while (*count < HOLDERS) {
        assert_true(weir_now_ms() < limit_ms);
        if (weir_now_ms() >= renew_ms) {
            renew_ms = weir_now_ms() + RENEW_MS;
            hold_all(fixture);
        }
        weir_loop_step(fixture->inside.loop, TEST_STEP_MS);
    }
}

/* They are more than are hinted at once. */
static void every_holder_is_hinted_of_an_erasure(void **state)
{
    static const char *const SUBJECTS[] = {"anna"};
    const struct msg_erase_accept accept = {
        .uuid = "u-1", .dataset = "", .subjects = {SUBJECTS, 1}, .reference = ""};
    struct fixture *fixture = *state;
    struct storage_inside *inside = &fixture->inside;

    storage_inside_write(inside, "a.jsonl",
                         "{\"ts\":1,\"user\":\"anna\"}\n{\"ts\":2,\"user\":\"bob\"}\n");
    (void)storage_inside_declare(inside, "  - name: lines\n"
                                         "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                                         "             settle: 0ms}\n"
                                         "    time: {from: field, field: ts}\n"
                                         "    subject: {field: user}\n");
    await_all(fixture, &fixture->holds);
    assert_int_equal(fixture->hints, 0);
    (void)storage_inside_erase(inside, &accept);
    await_all(fixture, &fixture->hints);
    assert_int_equal(fixture->hints, HOLDERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_holder_too_many_is_refused_in_words, begin, end),
        cmocka_unit_test_setup_teardown(trainers_that_hold_too_much_leave_room_for_workers, begin,
                                        end),
        cmocka_unit_test_setup_teardown(workers_elsewhere_are_more_than_trainers_can_be, begin,
                                        end),
        cmocka_unit_test_setup_teardown(every_holder_is_hinted_of_an_erasure, begin, end),
    };
    return cmocka_run_group_tests_name("storage: many holders", tests, NULL, NULL);
}
