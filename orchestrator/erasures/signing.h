/* What a receipt of an erasure is to those who make it and to those who were given one: JSON that carries the hash of
 * its content, the hash of the receipt before it, and a signature by the key of the platform that made it. */
#ifndef ORCHESTRATOR_ERASURES_SIGNING_H
#define ORCHESTRATOR_ERASURES_SIGNING_H

#include "core/base/error.h"

#include <jansson.h>
#include <stdint.h>

enum {
    RECEIPT_HASH_MAX = 65, /* characters, the final zero included */
    RECEIPT_KEY_MAX = 65,
    RECEIPT_SECRET_BYTES = 64,
    RECEIPT_BYTES_MAX = 1 << 20, /* of a receipt */
};

/* Ed25519. */
struct receipt_key {
    uint8_t secret[RECEIPT_SECRET_BYTES];
    char text[RECEIPT_KEY_MAX]; /* the public half, hexadecimal */
};

/* Reads the file, of mode 0600, or makes it with a new key: once, and never another one in its
 * place. CORRUPT when it holds no key. Wipe it with receipt_key_fini(). */
enum weir_status receipt_key_load(const char *path, struct receipt_key *ret_key,
                                  struct weir_error *err) WEIR_MUST_USE;
void receipt_key_fini(struct receipt_key *key);

/* Adds `public_key`, then `hash` of all of that, then its `signature`; `hash` is told, too. */
void receipt_sign(json_t *body, const struct receipt_key *key, char ret_hash[RECEIPT_HASH_MAX]);

/* What a receipt says of itself. */
struct receipt_claims {
    int64_t erasure, samples;
    char hash[RECEIPT_HASH_MAX], previous[RECEIPT_HASH_MAX];
    char key[RECEIPT_KEY_MAX]; /* ""; it was made before receipts were signed */
};
/* CORRUPT when it is none, when its hash is not that of its content, or its signature not that of
 * its key. Whose the key is must be asked elsewhere. Pure. */
enum weir_status receipt_read(const char *text, struct receipt_claims *ret_claims,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
