/* Hashes of what was erased: see guard.h. */
#include "storage/catalog/guard.h"

#include <string.h>

uint64_t storage_guard_content(const struct storage_secret *secret, const struct declaration *d,
                               struct weir_bytes head, struct weir_bytes content)
{
    WEIR_AUTO_BUF canonical = {0};

    if (d->format->canonical != NULL && d->format->canonical(head, d->options, content, &canonical))
        content = weir_buf_view(&canonical);
    return storage_hash(secret, HASH_CONTENT, content);
}

uint64_t storage_guard_place(const struct storage_secret *secret, const struct dataset *dataset,
                             const char *path, struct weir_bytes content)
{
    const char *name = dataset->declaration->is_pushed ? "" : path;
    WEIR_AUTO_BUF place = {0};

    if (dataset->declaration->format->is_one_sample)
        return storage_hash(secret, HASH_PATH, weir_bytes_of(name));
    weir_buf_append(&place, name, strlen(name) + 1);
    weir_buf_append(&place, content.at, content.size);
    return storage_hash(secret, HASH_RECORD, weir_buf_view(&place));
}

uint64_t storage_guard_key(const struct storage_secret *secret, const struct key_name *key,
                           const struct key_name *subject)
{
    uint8_t both[2 * STORAGE_PROOF_BYTES] = {0};

    memcpy(both, key->proof, STORAGE_PROOF_BYTES);
    if (subject != NULL)
        memcpy(both + STORAGE_PROOF_BYTES, subject->proof, STORAGE_PROOF_BYTES);
    return storage_hash(secret, HASH_RETURN, weir_bytes(both, sizeof(both)));
}

uint64_t storage_guard_file(const struct storage_secret *secret, const struct stored_file *file,
                            const char *path, int64_t ctime_ns)
{
    WEIR_AUTO_BUF identity = {0};

    weir_buf_append_u64(&identity, file->size);
    weir_buf_append_u64(&identity, (uint64_t)file->mtime_ns);
    weir_buf_append_u64(&identity, (uint64_t)ctime_ns);
    weir_buf_append_u64(&identity, file->source_inode);
    weir_buf_append_text(&identity, path);
    return storage_hash(secret, HASH_FILE, weir_buf_view(&identity));
}

struct blocked_hash *storage_guard_blocked(const struct storage_secret *secret,
                                           const struct dataset *dataset, const char *path,
                                           struct weir_bytes head, struct weir_bytes content)
{
    const struct declaration *d = dataset->declaration;
    struct blocked_hash *blocked = NULL;

    if (dataset->blocked_count == 0)
        return NULL;
    if (content.at != NULL)
        blocked = storage_dataset_blocked(dataset, storage_guard_content(secret, d, head, content));
    return blocked != NULL ? blocked
                           : storage_dataset_blocked(
                                 dataset, storage_guard_place(secret, dataset, path, content));
}
