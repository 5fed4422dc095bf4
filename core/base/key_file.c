/* Key files: see key_file.h. */
#include "core/base/key_file.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *new_path(const struct weir_key_file *file)
{
    return weir_format("%s.new", file->path);
}

static enum weir_status read_bytes(const struct weir_key_file *file, const char *path,
                                   uint8_t ret_key[WEIR_KEY_BYTES], struct weir_error *err)
{
    WEIR_AUTO_BUF bytes = {0};
    enum weir_status status = weir_file_read(path, WEIR_KEY_BYTES, &bytes, err);
    bool is_key = status == WEIR_OK && bytes.size == WEIR_KEY_BYTES;
    if (is_key)
        memcpy(ret_key, bytes.at, WEIR_KEY_BYTES);
    weir_buf_wipe(&bytes);
    if (is_key || (status != WEIR_OK && status != WEIR_LIMIT))
        return status;
    return weir_fail(err, WEIR_CORRUPT, "%s: expected a key of %d bytes: %s", path, WEIR_KEY_BYTES,
                     file->remedy);
}

/* Compares check values, not keys: nothing is known here of the key that was recorded. */
static bool is_recorded(const struct weir_key_file *file, const uint8_t key[WEIR_KEY_BYTES],
                        const char *recorded)
{
    char check[WEIR_KEY_CHECK_MAX];
    file->check(key, check);
    return strcmp(check, recorded) == 0;
}

/* The check value was recorded, and the process killed before the key was in its place. */
static bool finish_placing(const struct weir_key_file *file, const char *recorded,
                           uint8_t ret_key[WEIR_KEY_BYTES])
{
    struct weir_error ignored;
    WEIR_AUTO_FREE char *fresh = new_path(file);
    return read_bytes(file, fresh, ret_key, &ignored) == WEIR_OK &&
           is_recorded(file, ret_key, recorded) && rename(fresh, file->path) == 0 &&
           weir_sync_parent(file->path, &ignored) == WEIR_OK;
}

static enum weir_status fail_changed(const struct weir_key_file *file, const uint8_t *key,
                                     const char *recorded, struct weir_error *err)
{
    char check[WEIR_KEY_CHECK_MAX];
    file->check(key, check);
    return weir_fail(err, WEIR_CORRUPT,
                     "%s is another key than before (check value %.8s…, expected %.8s…): %s",
                     file->path, check, recorded, file->remedy);
}

enum weir_status weir_key_file_lost(const struct weir_key_file *file, struct weir_error *err)
{
    return weir_fail(err, WEIR_CORRUPT, "%s is missing: %s", file->path, file->remedy);
}

enum weir_status weir_key_file_read(const struct weir_key_file *file, const char *recorded,
                                    uint8_t ret_key[WEIR_KEY_BYTES], struct weir_error *err)
{
    enum weir_status status = read_bytes(file, file->path, ret_key, err);
    if ((status == WEIR_OK && is_recorded(file, ret_key, recorded)) ||
        (status != WEIR_OK && status != WEIR_NOT_FOUND && status != WEIR_CORRUPT))
        return status;
    if (finish_placing(file, recorded, ret_key))
        return WEIR_OK;
    if (status == WEIR_OK) {
        status = read_bytes(file, file->path, ret_key, err);
        status = status == WEIR_OK ? fail_changed(file, ret_key, recorded, err) : status;
    }
    explicit_bzero(ret_key, WEIR_KEY_BYTES);
    return status == WEIR_NOT_FOUND ? weir_key_file_lost(file, err) : status;
}

enum weir_status weir_key_file_adopt(const struct weir_key_file *file,
                                     uint8_t ret_key[WEIR_KEY_BYTES], struct weir_error *err)
{
    return read_bytes(file, file->path, ret_key, err);
}

static enum weir_status write_bytes(const char *path, const uint8_t key[WEIR_KEY_BYTES],
                                    struct weir_error *err)
{
    (void)unlink(path); /* torn: its writer died before anything could be recorded of it */
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot create: %s", path, strerror(errno));
    if (!weir_write_all(fd, weir_bytes(key, WEIR_KEY_BYTES)) || fsync(fd) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
    return weir_sync_parent(path, err);
}

enum weir_status weir_key_file_draw(const struct weir_key_file *file,
                                    uint8_t ret_key[WEIR_KEY_BYTES], struct weir_error *err)
{
    WEIR_AUTO_FREE char *fresh = new_path(file);
    enum weir_status status = read_bytes(file, fresh, ret_key, err);
    if (status != WEIR_NOT_FOUND && status != WEIR_CORRUPT)
        return status;
    weir_random_bytes(ret_key, WEIR_KEY_BYTES);
    status = write_bytes(fresh, ret_key, err);
    if (status == WEIR_OK && weir_fault("key_file.drawn"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault key_file.drawn");
    return status;
}
