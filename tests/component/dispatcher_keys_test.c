/* Workers let trainers elsewhere in by themselves: the dispatcher tells them which, once for each change. */
#include "tests/component/dispatcher_stage.h"

#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "preprocess/dispatcher/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 3, SAMPLES = 8, LONG_MS = 60000 };

/* A worker elsewhere beside the stage's own peer, and what it was told. */
struct lab {
    struct stage stage;
    struct weir_pair own, pair[KEYS];
    struct weir_rpc_peer *worker;
    struct weir_arena *arena;
    struct msg_worker_orders orders;
    bool done;
    int hints;
};

static void on_hint(void *owner, struct weir_request *request)
{
    struct lab *lab = owner;
    (void)request;
    lab->hints++;
}
static const struct weir_rpc_handler HINTS[] = {WEIR_ON(worker_hint, on_hint), {MSG_none, NULL}};

/* The worker's own key, and those of trainers from the second on. */
static void set_keys(struct lab *lab, uint64_t number, size_t count)
{
    static const char *const NAMES[KEYS] = {"w", "t-1", "t-2"}, *const TENANTS[KEYS] = {"", "",
                                                                                        "red"};
    static const uint32_t ROLES[KEYS] = {WEIR_ROLE_WORKER, WEIR_ROLE_TRAINER, WEIR_ROLE_TRAINER};
    const char *publics[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        publics[i] = lab->pair[i].public;
    const struct msg_keys_set keys = {
        number, {publics, count}, {NAMES, count}, {ROLES, count}, {TENANTS, count}};
    assert_int_equal(weir_rpc_set_keys(lab->stage.server, &keys, NULL), WEIR_OK);
    preprocess_dispatcher_keys(lab->stage.dispatcher, weir_rpc_keyring(lab->stage.server));
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    struct weir_error err;
    stage_begin(&lab->stage, *state, SAMPLES);
    stage_host(&lab->stage);
    lab->arena = weir_arena_new();
    assert_int_equal(weir_pair_draw(&lab->own, &err), WEIR_OK);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_pair_draw(&lab->pair[i], &err), WEIR_OK);
    const struct weir_rpc_door door = {.endpoint = "tcp://127.0.0.1:*", .pair = &lab->own};
    assert_int_equal(weir_rpc_listen_keyed(lab->stage.server, &door, &err), WEIR_OK);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    weir_rpc_peer_close(lab->worker);
    stage_unhost(&lab->stage);
    stage_end(&lab->stage);
    weir_arena_free(lab->arena);
    free(lab);
    return 0;
}

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct lab *lab = owner;
    lab->done = true;
    if (reply == NULL)
        fail_msg("%s", err->text);
    WEIR_AUTO_BUF bytes = {0};
    weir_message_pack(MSG_worker_orders, reply->message, &bytes);
    assert_int_equal(weir_message_unpack(MSG_worker_orders, weir_buf_view(&bytes), lab->arena,
                                         &lab->orders, NULL),
                     WEIR_OK);
}

static void beat(struct lab *lab, struct weir_rpc_peer *peer, uint64_t keys)
{
    const struct msg_worker_beat beat = {
        .worker = "w-1", .session = 7, .endpoint = "tcp://10.0.0.1:1#k", .keys = keys};
    lab->done = false;
    weir_rpc_call(peer, MSG_worker_beat, &beat, LONG_MS, on_orders, lab);
    test_loop_until(lab->stage.loop, &lab->done);
}

static void connect_worker(struct lab *lab)
{
    struct weir_error err;
    const char *address = weir_rpc_keyed_address(lab->stage.server);
    assert_int_equal(weir_rpc_connect_as(lab->stage.loop, address, &lab->pair[0], HINTS, lab,
                                         &lab->worker, &err),
                     WEIR_OK);
}

static void a_worker_elsewhere_is_told_of_trainers_once_for_each_change(void **state)
{
    struct lab *lab = *state;
    set_keys(lab, 1, 2);
    connect_worker(lab);
    beat(lab, lab->worker, 0);
    assert_int_equal(lab->orders.keys, 1);
    assert_int_equal(lab->orders.key_publics.count, 1);
    assert_string_equal(lab->orders.key_publics.at[0], lab->pair[1].public);
    assert_string_equal(lab->orders.key_names.at[0], "t-1");
    assert_int_equal(lab->orders.key_roles.at[0], WEIR_ROLE_TRAINER);
    beat(lab, lab->worker, 1);
    assert_int_equal(lab->orders.keys, 0);
    assert_int_equal(lab->orders.key_publics.count, 0);
    set_keys(lab, 2, 3);
    beat(lab, lab->worker, 1);
    assert_int_equal(lab->orders.keys, 2);
    assert_int_equal(lab->orders.key_publics.count, 2);
}

static void a_change_is_told_at_once(void **state)
{
    struct lab *lab = *state;
    set_keys(lab, 1, 2);
    connect_worker(lab);
    beat(lab, lab->worker, 1);
    assert_int_equal(lab->hints, 0);
    set_keys(lab, 2, 3);
    for (int64_t limit = weir_now_ms() + TEST_PATIENCE_MS; lab->hints == 0;) {
        assert_true(weir_now_ms() < limit);
        weir_loop_step(lab->stage.loop, 1);
    }
}

static void a_worker_of_this_host_is_told_too(void **state)
{
    struct lab *lab = *state;
    set_keys(lab, 1, 3);
    beat(lab, lab->stage.peer, 0);
    assert_int_equal(lab->orders.keys, 1);
    assert_int_equal(lab->orders.key_publics.count, 2);
}

static void keys_are_gathered_once_for_all_workers(void **state)
{
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    const char *const *publics;
    set_keys(lab, 1, 2);
    publics = preprocess_dispatcher_trainers_keys(dispatcher)->publics.at;
    beat(lab, lab->stage.peer, 0);
    assert_ptr_equal(preprocess_dispatcher_trainers_keys(dispatcher)->publics.at, publics);
    set_keys(lab, 2, 3);
    assert_int_equal(preprocess_dispatcher_trainers_keys(dispatcher)->publics.count, 2);
    assert_int_equal(preprocess_dispatcher_trainers_keys(dispatcher)->number, 2);
}

int main(void)
{
#define KEYS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        KEYS_TEST(a_worker_elsewhere_is_told_of_trainers_once_for_each_change),
        KEYS_TEST(a_change_is_told_at_once),
        KEYS_TEST(a_worker_of_this_host_is_told_too),
        KEYS_TEST(keys_are_gathered_once_for_all_workers),
    };
    return cmocka_run_group_tests_name("dispatcher_keys", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
