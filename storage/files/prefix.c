/* Beginnings of files: see prefix.h. */
#include "storage/files/prefix.h"

#include "core/base/file.h"

#include <fcntl.h>
#include <string.h>

enum { PREFIX_END_BYTES = 4096 };

uint64_t storage_prefix_hash(const struct storage_secret *secret, int fd, uint64_t bytes)
{
    uint8_t ends[8 + 2 * PREFIX_END_BYTES];
    size_t size = bytes < PREFIX_END_BYTES ? (size_t)bytes : PREFIX_END_BYTES;

    weir_put_u64(ends, bytes);
    if (weir_read_at(fd, ends + 8, size, 0) != (ssize_t)size ||
        weir_read_at(fd, ends + 8 + size, size, bytes - size) != (ssize_t)size)
        return 0;
    return storage_hash(secret, HASH_PREFIX, weir_bytes(ends, 8 + 2 * size));
}

uint64_t storage_source_hash(const struct dataset *dataset, const struct storage_secret *secret,
                             const char *path, uint64_t bytes)
{
    WEIR_AUTO_FD int fd = weir_open_beneath(dataset->root, path, O_RDONLY | O_NONBLOCK);

    return fd < 0 ? 0 : storage_prefix_hash(secret, fd, bytes);
}

static bool ends_whole(const struct format *format, int fd, uint64_t indexed)
{
    uint8_t around[2];

    if (!format->ends_with_newline || indexed == 0)
        return true;
    if (weir_read_at(fd, around, sizeof(around), indexed - 1) != (ssize_t)sizeof(around))
        return false;
    return around[0] == '\n' || around[1] == '\n' || around[1] == '\r';
}

bool storage_file_has_grown(const struct dataset *dataset, const struct storage_secret *secret,
                            const struct stored_file *file)
{
    WEIR_AUTO_FD int fd = weir_open_beneath(dataset->root, file->path, O_RDONLY | O_NONBLOCK);

    return fd >= 0 && file->prefix_hash != 0 &&
           storage_prefix_hash(secret, fd, file->indexed) == file->prefix_hash &&
           ends_whole(dataset->declaration->format, fd, file->indexed);
}
