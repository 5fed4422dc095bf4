/* See s3_authority.h. */
#include "storage/objects/s3_authority.h"

#include "core/base/file.h"

#include <sodium.h>
#include <sys/stat.h>

void storage_s3_authority_fini(struct s3_authority *authority)
{
    weir_buf_fini(&authority->pem);
    *authority = (struct s3_authority){0};
}

static bool is_as_read(const struct s3_authority *authority, const struct stat *found)
{
    return *authority->hash && found->st_ino == authority->inode &&
           found->st_size == authority->size && found->st_mtim.tv_sec == authority->mtime.tv_sec &&
           found->st_mtim.tv_nsec == authority->mtime.tv_nsec;
}

bool storage_s3_authority_read(struct s3_authority *authority, const char *path)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    struct stat found;
    struct weir_error err;

    if (stat(path, &found) < 0)
        return false;
    if (is_as_read(authority, &found))
        return true;
    storage_s3_authority_fini(authority);
    if (weir_file_read(path, S3_AUTHORITY_BYTES_MAX, &authority->pem, &err) != WEIR_OK)
        return false;
    crypto_hash_sha256(hash, authority->pem.at, authority->pem.size);
    weir_hex(hash, sizeof(hash), authority->hash);
    authority->inode = found.st_ino;
    authority->size = found.st_size;
    authority->mtime = found.st_mtim;
    return true;
}
