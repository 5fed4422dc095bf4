/* People with keys before a server: its door, and the peers by which they come. */
#ifndef WEIR_TESTS_SUPPORT_KEYED_H
#define WEIR_TESTS_SUPPORT_KEYED_H

#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEYED_MAX = 8, KEYED_MS = 60000 };

struct keyed_person {
    const char *name;
    enum weir_role role;
    const char *tenant;
};

struct keyed {
    struct weir_loop *loop;
    struct weir_pair own;
    struct weir_pair pairs[KEYED_MAX];
    struct weir_rpc_peer *peers[KEYED_MAX];
    /* Of the newest request. */
    bool done;
    enum weir_status status;
    char words[WEIR_ERROR_TEXT_MAX];
};

/* Lets them in, and connects them. */
static inline void keyed_begin(struct keyed *keyed, struct weir_loop *loop,
                               struct weir_rpc_server *server, const struct keyed_person *people,
                               size_t count)
{
    const struct weir_rpc_door door = {.endpoint = "tcp://127.0.0.1:*", .pair = &keyed->own};
    const char *publics[KEYED_MAX], *names[KEYED_MAX], *tenants[KEYED_MAX];
    uint32_t roles[KEYED_MAX];
    struct weir_error err;

    keyed->loop = loop;
    assert_int_equal(weir_pair_draw(&keyed->own, &err), WEIR_OK);
    assert_int_equal(weir_rpc_listen_keyed(server, &door, &err), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(weir_pair_draw(&keyed->pairs[i], &err), WEIR_OK);
        publics[i] = keyed->pairs[i].public;
        names[i] = people[i].name;
        roles[i] = people[i].role;
        tenants[i] = people[i].tenant;
    }
    const struct msg_keys_set keys = {
        1, {publics, count}, {names, count}, {roles, count}, {tenants, count}};
    assert_int_equal(weir_rpc_set_keys(server, &keys, &err), WEIR_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(weir_rpc_connect_as(loop, weir_rpc_keyed_address(server), &keyed->pairs[i],
                                             NULL, NULL, &keyed->peers[i], &err),
                         WEIR_OK);
}

static inline void keyed_end(struct keyed *keyed)
{
    for (size_t i = 0; i < KEYED_MAX; i++) {
        weir_rpc_peer_close(keyed->peers[i]);
        weir_pair_fini(&keyed->pairs[i]);
    }
    weir_pair_fini(&keyed->own);
}

static inline void keyed_on_reply(void *owner, const struct weir_reply *reply,
                                  const struct weir_error *err)
{
    struct keyed *keyed = (struct keyed *)owner;

    keyed->done = true;
    keyed->status = reply != NULL ? WEIR_OK : err->status;
    (void)snprintf(keyed->words, sizeof(keyed->words), "%s", reply != NULL ? "" : err->text);
}

/* Asks and waits, with `frames` or NULL. Returns how it ended; the words of a refusal are in `words`. */
static inline enum weir_status keyed_ask_framed(struct keyed *keyed, size_t who,
                                                enum weir_message type, const void *message,
                                                struct weir_frames *frames)
{
    struct weir_frames none = {.count = 0};
    const struct weir_framed_call call = {.type = type,
                                          .message = message,
                                          .frames = frames != NULL ? frames : &none,
                                          .deadline_ms = KEYED_MS,
                                          .done = keyed_on_reply,
                                          .owner = keyed};

    keyed->done = false;
    weir_rpc_call_framed(keyed->peers[who], &call);
    test_loop_until(keyed->loop, &keyed->done);
    return keyed->status;
}

static inline enum weir_status keyed_ask(struct keyed *keyed, size_t who, enum weir_message type,
                                         const void *message)
{
    return keyed_ask_framed(keyed, who, type, message, NULL);
}

/* Fails for a message that keys may send, and that is handled, unless it has a case: each is refused to whoever it does
 * not belong to, or is about nobody. */
static inline void keyed_assert_covered(const struct weir_rpc_handler *handlers,
                                        const enum weir_message *cases, size_t count)
{
    for (; handlers->type != MSG_none; handlers++) {
        const struct weir_message_info *info = weir_message_info(handlers->type);
        bool is_covered = (info->roles & WEIR_ROLES_KEYED) == 0;

        for (size_t i = 0; i < count; i++)
            is_covered |= cases[i] == handlers->type;
        if (!is_covered)
            fail_msg("keys may send %s: it has no case here that shows who is refused", info->name);
    }
}

#endif
