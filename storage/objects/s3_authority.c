/* See s3_authority.h. */
#include "storage/objects/s3_authority.h"

#include "core/base/file.h"
#include "storage/files/source.h"

#include <sodium.h>

void storage_s3_authority_fini(struct s3_authority *authority)
{
    weir_buf_fini(&authority->pem);
    *authority = (struct s3_authority){0};
}

bool storage_s3_authority_read(struct s3_authority *authority, const char *path)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    struct stat found;
    struct weir_error err;

    if (stat(path, &found) < 0)
        return false;
    if (storage_source_is_same(&found, &authority->read))
        return true;
    storage_s3_authority_fini(authority);
    if (weir_file_read(path, S3_AUTHORITY_BYTES_MAX, &authority->pem, &err) != WEIR_OK)
        return false;
    crypto_hash_sha256(hash, authority->pem.at, authority->pem.size);
    weir_hex(hash, sizeof(hash), authority->hash);
    authority->read = found;
    return true;
}
