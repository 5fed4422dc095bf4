/* A table of descriptors by device and inode, four to a set: see open_files.h. */
#include "storage/records/open_files.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/files/prefix.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAYS = 4, SETS = OPEN_FILES_MAX / WAYS };

struct open_file {
    int fd; /* -1: the slot is free */
    uint64_t device, inode;
    uint64_t used; /* when, by the cache's own clock */
};

struct open_files {
    struct open_file slots[SETS][WAYS];
    uint64_t clock;
    struct weir_buf path; /* of the file being opened */
};

struct open_files *storage_open_files_new(void)
{
    struct open_files *files = weir_calloc(1, sizeof *files);

    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        files->slots[i / WAYS][i % WAYS].fd = -1;
    return files;
}

static void close_slot(struct open_file *slot)
{
    if (slot->fd >= 0)
        close(slot->fd);
    *slot = (struct open_file){.fd = -1};
}

void storage_open_files_clear(struct open_files *files)
{
    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        close_slot(&files->slots[i / WAYS][i % WAYS]);
}

void storage_open_files_free(struct open_files *files)
{
    if (!files)
        return;
    storage_open_files_clear(files);
    weir_buf_fini(&files->path);
    free(files);
}

static struct open_file *set_of(struct open_files *files, const struct stored_file *file)
{
    return files->slots[weir_mix64(file->inode ^ file->device << 48) % SETS];
}

/* The slot of the file, or else the one of its set that was not used for longest. */
static struct open_file *slot_of(struct open_files *files, const struct stored_file *file)
{
    struct open_file *set = set_of(files, file);
    struct open_file *oldest = set;

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].fd >= 0 && set[i].inode == file->inode && set[i].device == file->device)
            return &set[i];
        if (set[i].used < oldest->used)
            oldest = &set[i];
    }
    close_slot(oldest);
    return oldest;
}

/* What stands at the path by now may be another file, and must not be kept as this one.
 * O_NONBLOCK: a fifo that took the file's place must not hang the service. */
static int open_path(struct open_files *files, const struct dataset *dataset,
                     const struct stored_file *file)
{
    struct stat found;
    int fd;

    weir_buf_clear(&files->path);
    weir_buf_append_text(&files->path,
                         dataset->declaration->is_copied ? dataset->copies : dataset->root);
    weir_buf_append(&files->path, "/", 1);
    weir_buf_append_text(&files->path, file->path);
    fd = open(weir_buf_text(&files->path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 ||
        (fstat(fd, &found) == 0 && found.st_ino == file->inode && found.st_dev == file->device))
        return fd;
    close(fd);
    return -1;
}

int storage_open_files_get(struct open_files *files, const struct dataset *dataset,
                           const struct stored_file *file)
{
    struct open_file *slot = slot_of(files, file);

    if (slot->fd < 0)
        *slot = (struct open_file){.fd = file->path ? open_path(files, dataset, file) : -1,
                                   .device = file->device,
                                   .inode = file->inode};
    slot->used = ++files->clock;
    return slot->fd;
}

static bool is_as_indexed(int fd, const struct stored_file *file,
                          const struct storage_secret *secret)
{
    struct stat now;

    if (fstat(fd, &now) != 0 || !S_ISREG(now.st_mode) || now.st_dev != file->device ||
        now.st_ino != file->inode || (uint64_t)now.st_size < file->size)
        return false;
    if ((uint64_t)now.st_size == file->size)
        return file->mtime_ns == 0 || weir_mtime_ns(&now) == file->mtime_ns;
    return storage_prefix_hash(secret, fd, file->indexed) == file->prefix_hash;
}

bool storage_open_files_check(struct open_files *files, int fd, const struct stored_file *file,
                              const struct storage_secret *secret)
{
    struct open_file *slot;

    if (is_as_indexed(fd, file, secret))
        return true;
    slot = slot_of(files, file);
    weir_require(slot->fd == fd || slot->fd < 0);
    close_slot(slot);
    return false;
}
