/* The allow-list of those who come from elsewhere, by public key. It is set in full, each time under a larger number.
 * Pure; zero-initialised is empty and lets nobody in. */
#ifndef WEIR_RPC_KEYRING_H
#define WEIR_RPC_KEYRING_H

#include "core/base/memory.h"
#include "core/wire/wire.h"

enum {
    WEIR_KEYRING_MAX = 1 << 16,
    WEIR_KEYRING_WORD_MAX = 64, /* characters of a name, and of a tenant */
};

/* Sender of a message. */
struct weir_sender {
    enum weir_role role;
    const char *name;   /* of the key; "": whoever reaches the socket */
    const char *tenant; /* the only one whose pipelines it may see; "": all */
};

struct weir_keyring {
    uint64_t number; /* 0: not set yet */
    struct weir_keyring_entry *at;
    size_t count;
    struct weir_arena *arena; /* of names and tenants */
};
void weir_keyring_fini(struct weir_keyring *keyring);

/* Replaces all keys; senders that were found before are void. A number that is not larger changes nothing. INVALID, and
 * nothing changes either: for a key that is none, is there twice, has a role of none or several, or a name that is no
 * word of letters, digits and _ - . : @ */
enum weir_status weir_keyring_set(struct weir_keyring *keyring, const struct msg_keys_set *keys,
                                  struct weir_error *err) WEIR_MUST_USE;
/* The one who has the secret to the public key, 40 characters of Z85; NULL: nobody who is let in. O(log keys). */
const struct weir_sender *weir_keyring_find(const struct weir_keyring *keyring, const char *public);
/* Its keys of these roles, for somebody else who lets them in; lives in `arena`, names in the keyring. */
struct msg_keys_set weir_keyring_tell(const struct weir_keyring *keyring, unsigned roles,
                                      struct weir_arena *arena);

#endif
