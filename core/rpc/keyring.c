/* The allow-list as a sorted array. */
#include "core/rpc/keyring.h"

#include "core/base/bisect.h"
#include "core/rpc/pair.h"

#include <stdlib.h>
#include <string.h>

struct weir_keyring_entry {
    char public[WEIR_KEY_CHARACTERS + 1];
    struct weir_sender sender;
};

void weir_keyring_fini(struct weir_keyring *keyring)
{
    free(keyring->at);
    weir_arena_free(keyring->arena);
    *keyring = (struct weir_keyring){.number = 0};
}

/* ---- setting ---- */

/* Names go into logs and errors as they are. */
static bool is_word(const char *text)
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.:@";
    size_t size = strlen(text);
    return size <= WEIR_KEYRING_WORD_MAX && strspn(text, LETTERS) == size;
}

static bool is_one_role(uint32_t roles)
{
    return roles != 0 && (roles & (roles - 1)) == 0 && (roles & ~(uint32_t)WEIR_ROLES_KEYED) == 0;
}

static enum weir_status check_row(const struct msg_keys_set *keys, size_t row,
                                  struct weir_error *err)
{
    if (!weir_key_is_one(keys->publics.at[row]))
        return weir_fail(err, WEIR_INVALID, "key %zu: expected %d characters of Z85", row,
                         WEIR_KEY_CHARACTERS);
    if (!is_one_role(keys->roles.at[row]))
        return weir_fail(err, WEIR_INVALID, "key %zu: expected one role, found %u", row,
                         keys->roles.at[row]);
    if (keys->names.at[row][0] == '\0' || !is_word(keys->names.at[row]) ||
        !is_word(keys->tenants.at[row]))
        return weir_fail(err, WEIR_INVALID,
                         "key %zu: expected a name and a tenant of at most %d letters, digits and "
                         "_ - . : @",
                         row, WEIR_KEYRING_WORD_MAX);
    return WEIR_OK;
}

static enum weir_status check_shape(const struct msg_keys_set *keys, struct weir_error *err)
{
    size_t count = keys->publics.count;
    if (count > WEIR_KEYRING_MAX)
        return weir_fail(err, WEIR_LIMIT, "%zu keys: at most %d", count, WEIR_KEYRING_MAX);
    if (keys->names.count != count || keys->roles.count != count || keys->tenants.count != count)
        return weir_fail(err, WEIR_INVALID, "the columns of keys differ in length");
    return WEIR_OK;
}

static int by_key(const void *left, const void *right)
{
    const struct weir_keyring_entry *a = left, *b = right;
    return strcmp(a->public, b->public);
}

static enum weir_status fill(struct weir_keyring *keyring, const struct msg_keys_set *keys,
                             struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < keys->publics.count && status == WEIR_OK; i++) {
        struct weir_keyring_entry *entry = &keyring->at[i];
        status = check_row(keys, i, err);
        if (status != WEIR_OK)
            break;
        const char *name = keys->names.at[i], *tenant = keys->tenants.at[i];
        memcpy(entry->public, keys->publics.at[i], sizeof(entry->public));
        entry->sender = (struct weir_sender){
            .role = (enum weir_role)keys->roles.at[i],
            .name = weir_arena_strndup(keyring->arena, name, strlen(name)),
            .tenant = weir_arena_strndup(keyring->arena, tenant, strlen(tenant)),
        };
        keyring->count++;
    }
    return status;
}

static enum weir_status check_once(const struct weir_keyring *keyring, struct weir_error *err)
{
    for (size_t i = 1; i < keyring->count; i++)
        if (by_key(&keyring->at[i - 1], &keyring->at[i]) == 0)
            return weir_fail(err, WEIR_INVALID, "the key of %s is that of %s too",
                             keyring->at[i].sender.name, keyring->at[i - 1].sender.name);
    return WEIR_OK;
}

enum weir_status weir_keyring_set(struct weir_keyring *keyring, const struct msg_keys_set *keys,
                                  struct weir_error *err)
{
    if (keys->number <= keyring->number)
        return WEIR_OK;
    enum weir_status status = check_shape(keys, err);
    if (status != WEIR_OK)
        return status;
    struct weir_keyring fresh = {
        .number = keys->number,
        .at = weir_calloc(keys->publics.count + 1, sizeof(*fresh.at)),
        .arena = weir_arena_new(),
    };
    status = fill(&fresh, keys, err);
    qsort(fresh.at, fresh.count, sizeof(*fresh.at), by_key);
    if (status == WEIR_OK)
        status = check_once(&fresh, err);
    if (status != WEIR_OK) {
        weir_keyring_fini(&fresh);
        return status;
    }
    weir_keyring_fini(keyring);
    *keyring = fresh;
    return WEIR_OK;
}

/* ---- asking ---- */

const struct weir_sender *weir_keyring_find(const struct weir_keyring *keyring, const char *public)
{
    size_t low = 0, high = keyring->count;
    WEIR_BISECT(low, high, at, strcmp(keyring->at[at].public, public) < 0);
    bool is_found = low < keyring->count && strcmp(keyring->at[low].public, public) == 0;
    return is_found ? &keyring->at[low].sender : NULL;
}

struct msg_keys_set weir_keyring_tell(const struct weir_keyring *keyring, unsigned asked,
                                      struct weir_arena *arena)
{
    size_t room = keyring->count + 1, count = 0;
    const char **publics = weir_arena_alloc(arena, room * sizeof(*publics));
    const char **names = weir_arena_alloc(arena, room * sizeof(*names));
    const char **tenants = weir_arena_alloc(arena, room * sizeof(*tenants));
    uint32_t *roles = weir_arena_alloc(arena, room * sizeof(*roles));
    for (size_t i = 0; i < keyring->count; i++) {
        const struct weir_sender *sender = &keyring->at[i].sender;
        if ((sender->role & asked) == 0)
            continue;
        publics[count] = keyring->at[i].public;
        names[count] = sender->name;
        tenants[count] = sender->tenant;
        roles[count++] = sender->role;
    }
    return (struct msg_keys_set){
        .number = keyring->number,
        .publics = {publics, count},
        .names = {names, count},
        .roles = {roles, count},
        .tenants = {tenants, count},
    };
}
