/* The receipt of an erasure, for those who make it and those who were given one: JSON that carries the hash of
 * its content, the hash of the receipt before it, and a signature by the key of the platform that made it. */
#ifndef ORCHESTRATOR_ERASURES_SIGNING_H
#define ORCHESTRATOR_ERASURES_SIGNING_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/key_file.h"

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

/* From the bytes of its file. Wipe it with orchestrator_receipt_key_fini(). */
void orchestrator_receipt_key_derive(const uint8_t seed[WEIR_KEY_BYTES],
                                     struct receipt_key *ret_key);
void orchestrator_receipt_key_fini(struct receipt_key *key);
/* The public half, as check value of the file. */
weir_key_check_fn orchestrator_receipt_key_check;

/* Adds `public_key`, then `hash` of all of that, then its `signature`; `hash` is returned, too. */
void orchestrator_receipt_sign(json_t *body, const struct receipt_key *key,
                               char ret_hash[RECEIPT_HASH_MAX]);

/* Hash, predecessor and key that a receipt names. */
struct receipt_claims {
    int64_t erasure, samples;
    char hash[RECEIPT_HASH_MAX], previous[RECEIPT_HASH_MAX];
    char key[RECEIPT_KEY_MAX]; /* public key of the signature; "": unsigned, by anybody */
};
/* CORRUPT when it is none, when its hash is not that of its content, or its signature not that of
 * its key. A receipt without key and signature passes: whether that may be, and whose the key is,
 * is for the caller to decide. Pure. */
enum weir_status orchestrator_receipt_read(struct weir_bytes text,
                                           struct receipt_claims *ret_claims,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The same of any other object that orchestrator_receipt_sign() has signed, and that has a `previous`: `erasure` and
 * `samples` stay 0. Takes `hash` and `signature` out of it. */
enum weir_status orchestrator_signed_check(json_t *body, struct receipt_claims *ret_claims,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
