/* Storage as those see it who come with keys: what one of them takes is not taken from the others. */
#include "core/base/clock.h"
#include "tests/component/storage_inside.h"
#include "tests/support/keyed.h"

#include <stdlib.h>
#include <string.h>

enum { ROSA, MALLORY, CREW, PEOPLE };

static const struct keyed_person WHO[PEOPLE] = {
    [ROSA] = {"rosa", WEIR_ROLE_TRAINER, ""},
    [MALLORY] = {"mallory", WEIR_ROLE_TRAINER, ""},
    [CREW] = {"crew", WEIR_ROLE_WORKER, ""},
};

struct fixture {
    struct storage_inside inside;
    struct weir_rpc_server *server;
    struct keyed keyed;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct storage_inside *inside = &fixture->inside;

    storage_inside_begin(inside);
    fixture->server = weir_rpc_server_new(inside->loop, STORAGE_HANDLERS, inside->storage);
    keyed_begin(&fixture->keyed, inside->loop, fixture->server, WHO, PEOPLE);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    keyed_end(&fixture->keyed);
    weir_rpc_server_close(fixture->server);
    storage_inside_end(&fixture->inside);
    free(fixture);
    return 0;
}

static enum weir_status hold(struct fixture *fixture, size_t who, uint64_t session, uint64_t epoch)
{
    const struct msg_hold asked = {.holder = "somebody", .session = session, .epoch = epoch};

    return keyed_ask(&fixture->keyed, who, MSG_hold, &asked);
}

/* Holds under a key of trainers until it is refused. */
static void take_all(struct fixture *fixture, const char *key)
{
    struct use_request asked = {.session = 1, .kind = USE_OF_TRAINER, .key = key};
    struct use_grant grant;
    struct weir_error err;

    while (storage_leases_hold(fixture->inside.storage->leases, &asked, weir_now_ms(), &grant,
                               &err) == WEIR_OK)
        asked.session++;
}

static void a_trainer_that_takes_every_lease_shuts_nobody_out(void **state)
{
    struct fixture *fixture = *state;

    take_all(fixture, "mallory");
    assert_int_equal(hold(fixture, MALLORY, UINT64_MAX, 0), WEIR_LIMIT);
    assert_non_null(strstr(fixture->keyed.words, "use leases of trainers are running under key "
                                                 "'mallory', as many as there can be while"));
    assert_int_equal(hold(fixture, ROSA, UINT64_MAX - 1, 0), WEIR_OK);
    assert_int_equal(hold(fixture, CREW, UINT64_MAX - 2, 0), WEIR_OK);
}

/* Neither says for another one that it has dropped what is erased. */
static void whoever_knows_a_session_neither_renews_nor_ends_it(void **state)
{
    static const uint64_t IDS[] = {11};
    struct fixture *fixture = *state;
    struct use_leases *leases = fixture->inside.storage->leases;

    storage_leases_none_before(leases);
    assert_int_equal(hold(fixture, ROSA, 7, 0), WEIR_OK);
    (void)storage_leases_add(leases, IDS, 1);
    assert_int_equal(hold(fixture, MALLORY, 7, 1), WEIR_DENIED);
    assert_int_equal(hold(fixture, CREW, 7, 1), WEIR_DENIED);
    weir_rpc_send(fixture->keyed.peers[MALLORY], MSG_hold_end, &(struct msg_hold_end){7});
    assert_int_equal(hold(fixture, MALLORY, 8, 1), WEIR_OK); /* the end came before */
    assert_int_equal(hold(fixture, ROSA, 7, 0), WEIR_OK);
    assert_false(storage_leases_force(leases, 1, weir_now_ms()).in_force);
    weir_rpc_send(fixture->keyed.peers[ROSA], MSG_hold_end, &(struct msg_hold_end){7});
    assert_int_equal(hold(fixture, ROSA, 9, 1), WEIR_OK);
    assert_true(storage_leases_force(leases, 1, weir_now_ms()).in_force);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trainer_that_takes_every_lease_shuts_nobody_out, begin,
                                        end),
        cmocka_unit_test_setup_teardown(whoever_knows_a_session_neither_renews_nor_ends_it, begin,
                                        end),
    };
    return cmocka_run_group_tests_name("storage: keys", tests, NULL, NULL);
}
