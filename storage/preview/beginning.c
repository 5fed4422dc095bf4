/* See beginning.h. */
#include "storage/preview/beginning.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum weir_status storage_beginning_write(const char *path, struct weir_bytes bytes,
                                         struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_strndup(path, (size_t)(strrchr(path, '/') - path));
    WEIR_AUTO_FD int fd = -1;
    enum weir_status status = weir_make_directories(folder, 0700, err);

    if (status != WEIR_OK)
        return status;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || !weir_write_all(fd, bytes))
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
    return WEIR_OK;
}

/* STALE is where what is at hand of it ends. */
enum weir_status storage_beginning_expand(int from, uint64_t size, const char *path,
                                          uint64_t *ret_size, struct weir_error *err)
{
    struct expansion *expansion = NULL;
    struct weir_bytes piece = {0};
    WEIR_AUTO_BUF beginning = {0};
    bool is_whole = false;
    enum weir_status status = storage_expansion_begin(from, size, &expansion, err);

    while (status == WEIR_OK && !is_whole && beginning.size < BEGINNING_BYTES) {
        status = storage_expansion_next(expansion, &piece, err);
        is_whole = status == WEIR_OK && piece.size == 0;
        if (status == WEIR_OK)
            weir_buf_append(&beginning, piece.at, piece.size);
    }
    storage_expansion_free(expansion);
    *ret_size = is_whole ? beginning.size : EXPAND_BYTES_MAX;
    return status == WEIR_OK || status == WEIR_STALE
               ? storage_beginning_write(path, weir_buf_view(&beginning), err)
               : status;
}

enum weir_status storage_beginning_expand_bytes(struct weir_bytes from, uint64_t size,
                                                const char *path, uint64_t *ret_size,
                                                struct weir_error *err)
{
    WEIR_AUTO_FD int fd = memfd_create("compressed", MFD_CLOEXEC);

    if (fd < 0 || !weir_write_all(fd, from))
        return weir_fail(err, WEIR_IO, "memory for what is compressed: %s", strerror(errno));
    return storage_beginning_expand(fd, size, path, ret_size, err);
}
