/* Hashes and signatures of receipts: see signing.h. */
#include "orchestrator/erasures/signing.h"

#include "core/base/memory.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 32, SIGNATURE_TEXT = 2 * crypto_sign_BYTES };

/* ---- the key ---- */

void orchestrator_receipt_key_fini(struct receipt_key *key)
{
    sodium_memzero(key, sizeof(*key));
}

void orchestrator_receipt_key_derive(const uint8_t seed[WEIR_KEY_BYTES],
                                     struct receipt_key *ret_key)
{
    static_assert(WEIR_KEY_BYTES == crypto_sign_SEEDBYTES, "a key file holds the seed");
    uint8_t public_half[crypto_sign_PUBLICKEYBYTES];
    (void)crypto_sign_seed_keypair(public_half, ret_key->secret, seed); /* cannot fail */
    weir_hex(public_half, sizeof(public_half), ret_key->text);
}

void orchestrator_receipt_key_check(const uint8_t seed[WEIR_KEY_BYTES],
                                    char ret_check[WEIR_KEY_CHECK_MAX])
{
    struct receipt_key key;
    orchestrator_receipt_key_derive(seed, &key);
    memcpy(ret_check, key.text, sizeof(key.text));
    orchestrator_receipt_key_fini(&key);
}

/* ---- hash and signature ---- */

/* Hash of the object without `hash` and `signature`. */
static void hash_body(const json_t *body, char ret_hash[RECEIPT_HASH_MAX])
{
    unsigned char hash[HASH_BYTES];
    char *compact = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
    weir_require(compact != NULL);
    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)compact, strlen(compact),
                             NULL, 0);
    weir_hex(hash, sizeof(hash), ret_hash);
    free(compact);
}

void orchestrator_receipt_sign(json_t *body, const struct receipt_key *key,
                               char ret_hash[RECEIPT_HASH_MAX])
{
    uint8_t signature[crypto_sign_BYTES];
    char text[SIGNATURE_TEXT + 1];
    json_object_set_new(body, "public_key", json_string(key->text));
    hash_body(body, ret_hash);
    (void)crypto_sign_detached(signature, NULL, (const unsigned char *)ret_hash, strlen(ret_hash),
                               key->secret);
    weir_hex(signature, sizeof(signature), text);
    json_object_set_new(body, "hash", json_string(ret_hash));
    json_object_set_new(body, "signature", json_string(text));
}

static bool is_signed(const struct receipt_claims *claims, const char *signature)
{
    uint8_t public_half[crypto_sign_PUBLICKEYBYTES], bytes[crypto_sign_BYTES];
    size_t key_size = 0, size = 0;
    return sodium_hex2bin(public_half, sizeof(public_half), claims->key, strlen(claims->key), NULL,
                          &key_size, NULL) == 0 &&
           key_size == sizeof(public_half) &&
           sodium_hex2bin(bytes, sizeof(bytes), signature, strlen(signature), NULL, &size, NULL) ==
               0 &&
           size == sizeof(bytes) &&
           crypto_sign_verify_detached(bytes, (const unsigned char *)claims->hash,
                                       strlen(claims->hash), public_half) == 0;
}

/* ---- reading ---- */

/* Copies a text that is `count` hexadecimal digits, or none where that is allowed. */
static bool take_digits(char *to, const char *text, size_t count, bool may_be_none)
{
    size_t length = strlen(text);
    if (strspn(text, "0123456789abcdef") != length ||
        (length != count && (length != 0 || !may_be_none)))
        return false;
    memcpy(to, text, length + 1);
    return true;
}

/* Its place in a chain, and who has signed it. */
static bool read_links(json_t *body, struct receipt_claims *claims)
{
    const char *hash, *previous, *key = "";
    if (json_unpack(body, "{ss,ss,s?s}", "hash", &hash, "previous", &previous, "public_key",
                    &key) != 0)
        return false;
    return take_digits(claims->hash, hash, RECEIPT_HASH_MAX - 1, false) &&
           take_digits(claims->previous, previous, RECEIPT_HASH_MAX - 1, true) &&
           take_digits(claims->key, key, RECEIPT_KEY_MAX - 1, true);
}

static bool read_claims(json_t *body, struct receipt_claims *claims)
{
    json_int_t erasure, samples;
    if (json_unpack(body, "{sI,sI}", "erasure", &erasure, "samples", &samples) != 0)
        return false;
    *claims = (struct receipt_claims){.erasure = erasure, .samples = samples};
    return read_links(body, claims);
}

static enum weir_status check_signature(const struct receipt_claims *claims, const char *signature,
                                        struct weir_error *err)
{
    bool has_key = claims->key[0] != '\0', has_signature = signature[0] != '\0';
    if (!has_key && !has_signature)
        return WEIR_OK; /* unsigned, and said so by its claims */
    if (!has_key)
        return weir_fail(err, WEIR_CORRUPT, "its public_key is missing beside its signature");
    if (!has_signature)
        return weir_fail(err, WEIR_CORRUPT, "its signature by the key %.16s… is missing",
                         claims->key);
    if (!is_signed(claims, signature))
        return weir_fail(err, WEIR_CORRUPT, "its signature is not that of the key %.16s…",
                         claims->key);
    return WEIR_OK;
}

/* Takes what is not hashed out of `body`. */
static enum weir_status check(json_t *body, const struct receipt_claims *claims,
                              struct weir_error *err)
{
    char hash[RECEIPT_HASH_MAX];
    const char *text = json_string_value(json_object_get(body, "signature"));
    WEIR_AUTO_FREE char *signature = weir_strdup(text != NULL ? text : "");
    json_object_del(body, "hash");
    json_object_del(body, "signature");
    hash_body(body, hash);
    if (strcmp(hash, claims->hash) != 0)
        return weir_fail(err, WEIR_CORRUPT, "its content has the hash %.16s…, it says %.16s…", hash,
                         claims->hash);
    return check_signature(claims, signature, err);
}

enum weir_status orchestrator_signed_check(json_t *body, struct receipt_claims *ret_claims,
                                           struct weir_error *err)
{
    struct receipt_claims claims = {.erasure = 0};
    if (!read_links(body, &claims))
        return weir_fail(err, WEIR_CORRUPT, "it is none: expected hash and previous");
    enum weir_status status = check(body, &claims, err);
    if (status == WEIR_OK)
        *ret_claims = claims;
    return status;
}

enum weir_status orchestrator_receipt_read(struct weir_bytes text,
                                           struct receipt_claims *ret_claims,
                                           struct weir_error *err)
{
    struct receipt_claims claims;
    json_error_t mistake;
    json_t *body = json_loadb(text.at == NULL ? "" : (const char *)text.at, text.size,
                              JSON_REJECT_DUPLICATES, &mistake);
    enum weir_status status;
    if (body == NULL)
        status = weir_fail(err, WEIR_CORRUPT, "it is no receipt: line %d: %s", mistake.line,
                           mistake.text);
    else if (!read_claims(body, &claims))
        status = weir_fail(err, WEIR_CORRUPT,
                           "it is no receipt: expected erasure, samples, hash and previous");
    else
        status = check(body, &claims, err);
    json_decref(body);
    if (status == WEIR_OK)
        *ret_claims = claims;
    return status;
}
