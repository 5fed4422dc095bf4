/* The store's secret: see secret.h. */
#include "storage/keys/secret.h"

#include "core/base/fault.h"
#include "core/base/key_file.h"
#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <sodium.h>
#include <string.h>

/* 32 hexadecimal digits: a keyed hash of a constant. */
static void check_of(const uint8_t key[WEIR_KEY_BYTES], char ret_check[WEIR_KEY_CHECK_MAX])
{
    struct storage_secret secret = {0};
    uint8_t proof[STORAGE_PROOF_BYTES];

    memcpy(secret.bytes, key, sizeof(secret.bytes));
    storage_proof(&secret, HASH_CHECK, weir_bytes_of("secret of a Weir store"), proof);
    weir_hex(proof, sizeof(proof), ret_check);
    explicit_bzero(&secret, sizeof(secret));
}

/* A store of an older Weir has a secret, but nothing is recorded of it yet; an empty one draws its secret. */
static enum weir_status record(struct weir_db *db, const struct weir_key_file *file,
                               struct weir_error *err)
{
    WEIR_AUTO(weir_rows) used = NULL;
    uint8_t key[WEIR_KEY_BYTES];
    char check[WEIR_KEY_CHECK_MAX];
    enum weir_status status = weir_key_file_adopt(file, key, err);

    if (status == WEIR_NOT_FOUND) {
        status = DB_RUN(db, Q_secret_is_used, &used, err);
        if (status == WEIR_OK && weir_rows_bool(used, 0, "is_used"))
            return weir_key_file_lost(file, err);
        if (status == WEIR_OK)
            status = weir_key_file_draw(file, key, err);
    }
    if (status != WEIR_OK)
        return status;
    check_of(key, check);
    explicit_bzero(key, sizeof(key));
    return DB_RUN(db, Q_secret_record, NULL, err, DB_TEXT(check));
}

enum weir_status storage_secret_open(const char *data_dir, struct weir_db *db,
                                     struct storage_secret *ret_secret, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/secret", data_dir);
    WEIR_AUTO(weir_rows) recorded = NULL;
    const struct weir_key_file file = {
        .path = path,
        .check = check_of,
        .remedy = "put it back from a backup; without it no data subject, key or erased record of "
                  "this store can be found, so storage does not start",
    };
    enum weir_status status = DB_RUN(db, Q_secret_check, &recorded, err);

    if (status == WEIR_OK && weir_rows_count(recorded) == 0) {
        weir_rows_free(WEIR_TAKE(recorded));
        status = record(db, &file, err);
        if (status == WEIR_OK) /* a killed predecessor's may have come first */
            status = DB_RUN(db, Q_secret_check, &recorded, err);
    }
    ret_secret->shift = weir_fault("storage.secret.narrow") ? 61 : 0;
    return status == WEIR_OK ? weir_key_file_read(&file, weir_rows_text(recorded, 0, "value"),
                                                  ret_secret->bytes, err)
                             : status;
}

uint64_t storage_hash(const struct storage_secret *secret, enum storage_hash_domain domain,
                      struct weir_bytes bytes)
{
    uint8_t key[crypto_shorthash_KEYBYTES];
    uint8_t hash[crypto_shorthash_BYTES];

    memcpy(key, secret->bytes, sizeof(key));
    key[0] ^= (uint8_t)domain;
    crypto_shorthash(hash, bytes.at != NULL ? bytes.at : (const uint8_t *)"", bytes.size, key);
    return weir_get_u64(hash) >> (domain == HASH_SUBJECT || domain == HASH_KEY ? secret->shift : 0);
}

void storage_proof(const struct storage_secret *secret, enum storage_hash_domain domain,
                   struct weir_bytes bytes, uint8_t *ret_proof)
{
    const uint8_t which = (uint8_t)domain;
    crypto_generichash_state state;

    weir_require(crypto_generichash_init(&state, secret->bytes, STORAGE_SECRET_BYTES,
                                         STORAGE_PROOF_BYTES) == 0);
    crypto_generichash_update(&state, &which, sizeof(which));
    crypto_generichash_update(&state, bytes.at != NULL ? bytes.at : (const uint8_t *)"",
                              bytes.size);
    crypto_generichash_final(&state, ret_proof, STORAGE_PROOF_BYTES);
}
