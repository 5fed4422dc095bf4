/* The allow-list: who is in it, what replaces it, what it refuses. */
#include "core/rpc/keyring.h"

#include "core/base/rng.h"
#include "core/rpc/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

enum { MANY = 10000 };

/* Rows of a keys_set. */
struct rows {
    size_t count;
    char texts[WEIR_KEYRING_MAX][WEIR_KEY_CHARACTERS + 1];
    const char *publics[WEIR_KEYRING_MAX], *names[WEIR_KEYRING_MAX], *tenants[WEIR_KEYRING_MAX];
    uint32_t roles[WEIR_KEYRING_MAX];
};

static void add(struct rows *rows, enum weir_role role, const char *name, const char *tenant)
{
    uint8_t bytes[32];
    size_t i = rows->count++;
    weir_random_bytes(bytes, sizeof(bytes));
    zmq_z85_encode(rows->texts[i], bytes, sizeof(bytes));
    rows->publics[i] = rows->texts[i];
    rows->names[i] = name;
    rows->tenants[i] = tenant;
    rows->roles[i] = role;
}

static struct msg_keys_set message(const struct rows *rows, uint64_t number)
{
    return (struct msg_keys_set){
        .number = number,
        .publics = {rows->publics, rows->count},
        .names = {rows->names, rows->count},
        .roles = {rows->roles, rows->count},
        .tenants = {rows->tenants, rows->count},
    };
}

static enum weir_status set(struct weir_keyring *keyring, const struct rows *rows, uint64_t number)
{
    const struct msg_keys_set keys = message(rows, number);
    return weir_keyring_set(keyring, &keys, NULL);
}

static void an_empty_keyring_knows_nobody(void **state)
{
    struct weir_keyring keyring = {0};
    (void)state;
    assert_null(weir_keyring_find(&keyring, ""));
    assert_null(weir_keyring_find(&keyring, "0123456789012345678901234567890123456789"));
}

static void a_key_is_found_with_role_name_and_tenant(void **state)
{
    static struct rows rows;
    struct weir_keyring keyring = {0};
    (void)state;
    rows.count = 0;
    for (size_t i = 0; i < MANY; i++)
        add(&rows, i % 2 == 0 ? WEIR_ROLE_WORKER : WEIR_ROLE_VIEWER, "w", i % 3 == 0 ? "red" : "");
    assert_int_equal(set(&keyring, &rows, 1), WEIR_OK);
    for (size_t i = 0; i < MANY; i++) {
        const struct weir_sender *sender = weir_keyring_find(&keyring, rows.publics[i]);
        assert_int_equal(sender->role, rows.roles[i]);
        assert_string_equal(sender->name, "w");
        assert_string_equal(sender->tenant, rows.tenants[i]);
    }
    weir_keyring_fini(&keyring);
}

static void a_newer_list_replaces_all_of_it_and_an_older_one_nothing(void **state)
{
    static struct rows first, second;
    struct weir_keyring keyring = {0};
    (void)state;
    first.count = second.count = 0;
    add(&first, WEIR_ROLE_WORKER, "one", "");
    add(&second, WEIR_ROLE_WORKER, "two", "");
    assert_int_equal(set(&keyring, &first, 5), WEIR_OK);
    assert_int_equal(set(&keyring, &second, 5), WEIR_OK);
    assert_non_null(weir_keyring_find(&keyring, first.publics[0]));
    assert_int_equal(set(&keyring, &second, 6), WEIR_OK);
    assert_null(weir_keyring_find(&keyring, first.publics[0]));
    assert_non_null(weir_keyring_find(&keyring, second.publics[0]));
    assert_int_equal(set(&keyring, &first, 5), WEIR_OK);
    assert_null(weir_keyring_find(&keyring, first.publics[0]));
    second.count = 0;
    assert_int_equal(set(&keyring, &second, 7), WEIR_OK);
    assert_int_equal(keyring.number, 7);
    assert_null(weir_keyring_find(&keyring, second.publics[0]));
    weir_keyring_fini(&keyring);
}

/* A role that no key has, two at once, a name that breaks lines of a log, a key that is none, one that is there
 * twice. */
static void a_list_that_cannot_be_meant_changes_nothing(void **state)
{
    static struct rows good, bad;
    struct weir_keyring keyring = {0};
    (void)state;
    good.count = 0;
    add(&good, WEIR_ROLE_OPERATOR, "rosa", "");
    assert_int_equal(set(&keyring, &good, 1), WEIR_OK);
    for (int fault = 0; fault < 8; fault++) {
        bad.count = 0;
        add(&bad, WEIR_ROLE_WORKER, "fine", "");
        add(&bad, WEIR_ROLE_WORKER, "fine", "");
        const uint32_t roles[] = {WEIR_ROLE_PLATFORM, 0, WEIR_ROLE_WORKER | WEIR_ROLE_PRIVACY,
                                  1u << 20};
        if (fault < 4)
            bad.roles[1] = roles[fault];
        else if (fault == 4)
            bad.names[1] = "a\nb";
        else if (fault == 5)
            bad.names[1] = "";
        else if (fault == 6)
            bad.publics[1] = "short";
        else
            bad.publics[1] = bad.publics[0];
        assert_int_equal(set(&keyring, &bad, 2), WEIR_INVALID);
        assert_non_null(weir_keyring_find(&keyring, good.publics[0]));
        assert_int_equal(keyring.number, 1);
    }
    struct msg_keys_set uneven = message(&good, 3);
    uneven.roles.count = 0;
    assert_int_equal(weir_keyring_set(&keyring, &uneven, NULL), WEIR_INVALID);
    uneven.publics.count = WEIR_KEYRING_MAX + 1;
    assert_int_equal(weir_keyring_set(&keyring, &uneven, NULL), WEIR_LIMIT);
    weir_keyring_fini(&keyring);
}

static void as_many_keys_as_may_be_fit_into_a_message(void **state)
{
    static struct rows rows;
    char word[WEIR_KEYRING_WORD_MAX + 1] = {0};
    struct weir_keyring keyring = {0};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    WEIR_AUTO_BUF packed = {0};
    (void)state;
    memset(word, 'w', WEIR_KEYRING_WORD_MAX);
    rows.count = 0;
    while (rows.count < WEIR_KEYRING_MAX)
        add(&rows, WEIR_ROLE_TRAINER, word, word);
    const struct msg_keys_set keys = message(&rows, 1);
    weir_message_pack(MSG_keys_set, &keys, &packed);
    assert_true(packed.size > WEIR_WIRE_HEADER_MAX / 2 && packed.size < WEIR_WIRE_HEADER_MAX);
    struct msg_keys_set read;
    assert_int_equal(weir_message_unpack(MSG_keys_set, weir_buf_view(&packed), arena, &read, NULL),
                     WEIR_OK);
    assert_int_equal(weir_keyring_set(&keyring, &read, NULL), WEIR_OK);
    assert_string_equal(weir_keyring_find(&keyring, rows.publics[12345])->tenant, word);
    weir_keyring_fini(&keyring);
}

static void what_is_told_of_its_roles_lets_in_the_same_elsewhere(void **state)
{
    static struct rows rows;
    struct weir_keyring here = {0}, there = {0};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    (void)state;
    rows.count = 0;
    add(&rows, WEIR_ROLE_TRAINER, "t-1", "red");
    add(&rows, WEIR_ROLE_PRIVACY, "kim", "");
    add(&rows, WEIR_ROLE_OPERATOR, "rosa", "");
    assert_int_equal(set(&here, &rows, 9), WEIR_OK);
    const struct msg_keys_set told =
        weir_keyring_tell(&here, WEIR_ROLE_TRAINER | WEIR_ROLE_PRIVACY, arena);
    assert_int_equal(weir_keyring_set(&there, &told, NULL), WEIR_OK);
    assert_int_equal(there.number, 9);
    assert_string_equal(weir_keyring_find(&there, rows.publics[0])->tenant, "red");
    assert_int_equal(weir_keyring_find(&there, rows.publics[1])->role, WEIR_ROLE_PRIVACY);
    assert_null(weir_keyring_find(&there, rows.publics[2]));
    weir_keyring_fini(&here);
    weir_keyring_fini(&there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_keyring_knows_nobody),
        cmocka_unit_test(a_key_is_found_with_role_name_and_tenant),
        cmocka_unit_test(a_newer_list_replaces_all_of_it_and_an_older_one_nothing),
        cmocka_unit_test(a_list_that_cannot_be_meant_changes_nothing),
        cmocka_unit_test(as_many_keys_as_may_be_fit_into_a_message),
        cmocka_unit_test(what_is_told_of_its_roles_lets_in_the_same_elsewhere),
    };
    return cmocka_run_group_tests_name("keyring", tests, NULL, NULL);
}
