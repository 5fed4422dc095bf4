/* Hashes and signatures of receipts: see signing.h. */
#include "orchestrator/erasures/signing.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_BYTES = 32, SIGNATURE_TEXT = 2 * crypto_sign_BYTES };

/* ---- the key ---- */

void receipt_key_fini(struct receipt_key *key)
{
    sodium_memzero(key, sizeof *key);
}

static void derive(const uint8_t seed[crypto_sign_SEEDBYTES], struct receipt_key *ret_key)
{
    uint8_t public_half[crypto_sign_PUBLICKEYBYTES];
    (void)crypto_sign_seed_keypair(public_half, ret_key->secret, seed); /* cannot fail */
    weir_hex(public_half, sizeof public_half, ret_key->text);
}

/* Linked into its place, so that of two that make one at the same time one stays. */
static enum weir_status write_seed(const char *path, const uint8_t *seed, struct weir_error *err)
{
    WEIR_AUTO_FREE char *temporary = weir_format("%s.new", path);
    unlink(temporary); /* left by a death between these lines */
    WEIR_AUTO_FD int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, seed, crypto_sign_SEEDBYTES) != crypto_sign_SEEDBYTES ||
        fsync(fd) < 0 || (link(temporary, path) < 0 && errno != EEXIST) || unlink(temporary) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
    return weir_sync_parent(path, err);
}

static enum weir_status make_key(const char *path, struct weir_error *err)
{
    uint8_t seed[crypto_sign_SEEDBYTES];
    randombytes_buf(seed, sizeof seed);
    enum weir_status status = write_seed(path, seed, err);
    sodium_memzero(seed, sizeof seed);
    return status;
}

static enum weir_status read_key(const char *path, struct receipt_key *ret_key,
                                 struct weir_error *err)
{
    WEIR_AUTO_BUF seed = {0};
    enum weir_status status = weir_file_read(path, crypto_sign_SEEDBYTES, &seed, err);
    bool is_key = status == WEIR_OK && seed.size == crypto_sign_SEEDBYTES;
    if (is_key)
        derive(seed.at, ret_key);
    if (seed.size > 0)
        sodium_memzero(seed.at, seed.size);
    if (is_key || (status != WEIR_OK && status != WEIR_LIMIT))
        return status;
    return weir_fail(err, WEIR_CORRUPT,
                     "%s: expected %d bytes: restore it, or receipts are signed by another key",
                     path, (int)crypto_sign_SEEDBYTES);
}

enum weir_status receipt_key_load(const char *path, struct receipt_key *ret_key,
                                  struct weir_error *err)
{
    if (sodium_init() < 0)
        return weir_fail(err, WEIR_INTERNAL, "libsodium cannot be used here");
    enum weir_status status = read_key(path, ret_key, err);
    if (status != WEIR_NOT_FOUND)
        return status;
    status = make_key(path, err);
    return status == WEIR_OK ? read_key(path, ret_key, err) : status;
}

/* ---- hash and signature ---- */

/* Of the object without `hash` and `signature`. */
static void hash_body(const json_t *body, char ret_hash[RECEIPT_HASH_MAX])
{
    unsigned char hash[HASH_BYTES];
    char *compact = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
    weir_require(compact != NULL);
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)compact, strlen(compact),
                             NULL, 0);
    weir_hex(hash, sizeof hash, ret_hash);
    free(compact);
}

void receipt_sign(json_t *body, const struct receipt_key *key, char ret_hash[RECEIPT_HASH_MAX])
{
    uint8_t signature[crypto_sign_BYTES];
    char text[SIGNATURE_TEXT + 1];
    json_object_set_new(body, "public_key", json_string(key->text));
    hash_body(body, ret_hash);
    (void)crypto_sign_detached(signature, NULL, (const unsigned char *)ret_hash, strlen(ret_hash),
                               key->secret);
    weir_hex(signature, sizeof signature, text);
    json_object_set_new(body, "hash", json_string(ret_hash));
    json_object_set_new(body, "signature", json_string(text));
}

static bool is_signed(const struct receipt_claims *claims, const char *signature)
{
    uint8_t public_half[crypto_sign_PUBLICKEYBYTES], bytes[crypto_sign_BYTES];
    size_t key_size = 0, size = 0;
    return sodium_hex2bin(public_half, sizeof public_half, claims->key, strlen(claims->key), NULL,
                          &key_size, NULL) == 0 &&
           key_size == sizeof public_half &&
           sodium_hex2bin(bytes, sizeof bytes, signature, strlen(signature), NULL, &size, NULL) ==
               0 &&
           size == sizeof bytes &&
           crypto_sign_verify_detached(bytes, (const unsigned char *)claims->hash,
                                       strlen(claims->hash), public_half) == 0;
}

/* ---- reading ---- */

static bool read_claims(json_t *body, struct receipt_claims *claims)
{
    const char *hash, *previous, *key = "";
    json_int_t erasure, samples;
    if (json_unpack(body, "{sI,sI,ss,ss,s?s}", "erasure", &erasure, "samples", &samples, "hash",
                    &hash, "previous", &previous, "public_key", &key) != 0)
        return false;
    *claims = (struct receipt_claims){.erasure = erasure, .samples = samples};
    (void)snprintf(claims->hash, sizeof claims->hash, "%s", hash);
    (void)snprintf(claims->previous, sizeof claims->previous, "%s", previous);
    (void)snprintf(claims->key, sizeof claims->key, "%s", key);
    return true;
}

/* Takes what is not hashed out of `body`. */
static enum weir_status check(json_t *body, const struct receipt_claims *claims,
                              struct weir_error *err)
{
    char hash[RECEIPT_HASH_MAX];
    const char *text = json_string_value(json_object_get(body, "signature"));
    WEIR_AUTO_FREE char *signature = weir_strdup(text ? text : "");
    json_object_del(body, "hash");
    json_object_del(body, "signature");
    hash_body(body, hash);
    if (strcmp(hash, claims->hash) != 0)
        return weir_fail(err, WEIR_CORRUPT, "its content has the hash %.16s…, it says %.16s…", hash,
                         claims->hash);
    if ((*claims->key || *signature) && !is_signed(claims, signature))
        return weir_fail(err, WEIR_CORRUPT, "its signature is not that of the key %.16s…",
                         claims->key);
    return WEIR_OK;
}

enum weir_status receipt_read(const char *text, struct receipt_claims *ret_claims,
                              struct weir_error *err)
{
    struct receipt_claims claims;
    json_t *body = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    enum weir_status status = read_claims(body, &claims)
                                  ? check(body, &claims, err)
                                  : weir_fail(err, WEIR_CORRUPT, "it is no receipt");
    json_decref(body);
    if (status == WEIR_OK)
        *ret_claims = claims;
    return status;
}
