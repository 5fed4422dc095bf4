/* The store's secret: see secret.h. */
#include "storage/catalog/secret.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum weir_status write_new(const char *path, const struct storage_secret *secret,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *temporary = weir_format("%s.new", path);
    WEIR_AUTO_FD int fd = -1;

    unlink(temporary); /* left by a death between these lines */
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot create: %s", temporary, strerror(errno));
    if (write(fd, secret->bytes, sizeof secret->bytes) != (ssize_t)sizeof secret->bytes ||
        fsync(fd) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", temporary, strerror(errno));
    if (rename(temporary, path) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot rename to: %s", path, strerror(errno));
    return weir_sync_parent(path, err);
}

enum weir_status storage_secret_load(const char *data_dir, struct storage_secret *ret_secret,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/secret", data_dir);
    WEIR_AUTO_BUF bytes = {0};
    enum weir_status status = weir_file_read(path, STORAGE_SECRET_BYTES, &bytes, err);

    ret_secret->shift = weir_fault("storage.secret.narrow") ? 61 : 0;
    if (status == WEIR_NOT_FOUND) {
        weir_random_bytes(ret_secret->bytes, sizeof ret_secret->bytes);
        return write_new(path, ret_secret, err);
    }
    if (status == WEIR_OK && bytes.size == STORAGE_SECRET_BYTES) {
        memcpy(ret_secret->bytes, bytes.at, STORAGE_SECRET_BYTES);
        return WEIR_OK;
    }
    if (status != WEIR_OK && status != WEIR_LIMIT)
        return status;
    return weir_fail(err, WEIR_CORRUPT,
                     "%s: expected %d bytes: restore it, subjects cannot be found without it", path,
                     STORAGE_SECRET_BYTES);
}

uint64_t storage_hash(const struct storage_secret *secret, enum storage_hash_domain domain,
                      struct weir_bytes bytes)
{
    uint8_t key[crypto_shorthash_KEYBYTES];
    uint8_t hash[crypto_shorthash_BYTES];

    memcpy(key, secret->bytes, sizeof key);
    key[0] ^= (uint8_t)domain;
    crypto_shorthash(hash, bytes.at ? bytes.at : (const uint8_t *)"", bytes.size, key);
    return weir_get_u64(hash) >> (domain == HASH_SUBJECT || domain == HASH_KEY ? secret->shift : 0);
}

void storage_proof(const struct storage_secret *secret, enum storage_hash_domain domain,
                   struct weir_bytes bytes, uint8_t *ret_proof)
{
    const uint8_t which = (uint8_t)domain;
    crypto_generichash_state state;

    weir_require(crypto_generichash_init(&state, secret->bytes, STORAGE_SECRET_BYTES,
                                         STORAGE_PROOF_BYTES) == 0);
    crypto_generichash_update(&state, &which, sizeof which);
    crypto_generichash_update(&state, bytes.at ? bytes.at : (const uint8_t *)"", bytes.size);
    crypto_generichash_final(&state, ret_proof, STORAGE_PROOF_BYTES);
}
