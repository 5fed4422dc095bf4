/* Descriptors by device and inode in a bounded cache: see open_files.h. */
#include "storage/records/open_files.h"

#include "core/base/cache.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/files/prefix.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct open_file {
    struct weir_cache_entry entry;
    int fd; /* -1: it cannot be opened, or has been closed */
    uint64_t device, inode;
};

struct open_files {
    struct weir_cache slots;
    struct open_file slot[OPEN_FILES_MAX];
    struct weir_buf path; /* of the file being opened */
};

struct open_files *storage_open_files_new(void)
{
    return weir_calloc(1, sizeof(struct open_files));
}

static void close_slot(struct open_file *slot)
{
    if (slot->fd >= 0)
        close(slot->fd);
    slot->fd = -1;
}

/* The slot that makes room, out of the cache; NULL: none is in it. */
static struct open_file *drop_oldest(struct open_files *files)
{
    struct open_file *slot = weir_cache_oldest(&files->slots);

    if (slot == NULL)
        return NULL;
    weir_cache_remove(&files->slots, &slot->entry);
    close_slot(slot);
    return slot;
}

void storage_open_files_clear(struct open_files *files)
{
    while (drop_oldest(files) != NULL)
        ;
    weir_buf_fini(&files->path);
}
void storage_open_files_free(struct open_files *files)
{
    if (files == NULL)
        return;
    storage_open_files_clear(files);
    weir_cache_fini(&files->slots);
    free(files);
}

static uint64_t hash_of(const struct stored_file *file)
{
    return weir_mix64(file->inode ^ file->device << 48);
}

static bool is_of(const struct open_file *slot, const struct stored_file *file)
{
    return slot->inode == file->inode && slot->device == file->device;
}

static struct open_file *find(const struct open_files *files, const struct stored_file *file)
{
    struct weir_cache_entry *entry = weir_cache_find(&files->slots, hash_of(file));

    while (entry != NULL && !is_of(entry->owner, file))
        entry = weir_cache_find_next(entry);
    return entry != NULL ? entry->owner : NULL;
}

/* A slot for a file that has none: slots leave the cache all together, or one to be taken again at once. */
static struct open_file *add(struct open_files *files, const struct stored_file *file)
{
    size_t count = files->slots.count;
    struct open_file *slot = count < OPEN_FILES_MAX ? &files->slot[count] : drop_oldest(files);

    *slot = (struct open_file){.fd = -1, .device = file->device, .inode = file->inode};
    weir_cache_add(&files->slots, &slot->entry, hash_of(file), 1, slot);
    return slot;
}

/* The path may lead to another file by now, which must not be kept as this one.
 * O_NONBLOCK: a fifo that took the file's place must not hang the service. */
int storage_file_open(const char *path, const struct stored_file *file)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 ||
        (fstat(fd, &found) == 0 && found.st_ino == file->inode && found.st_dev == file->device))
        return fd;
    close(fd);
    return -1;
}

static int open_path(struct open_files *files, const struct dataset *dataset,
                     const struct stored_file *file)
{
    weir_buf_clear(&files->path);
    weir_buf_append_text(&files->path,
                         dataset->declaration->is_copied ? dataset->copies : dataset->root);
    weir_buf_append(&files->path, "/", 1);
    weir_buf_append_text(&files->path, file->path);
    return storage_file_open(weir_buf_text(&files->path), file);
}

int storage_open_files_get(struct open_files *files, const struct dataset *dataset,
                           const struct stored_file *file)
{
    struct open_file *slot = find(files, file);

    if (slot == NULL)
        slot = add(files, file);
    if (slot->fd < 0 && file->path != NULL)
        slot->fd = open_path(files, dataset, file);
    slot->entry.is_used = true;
    return slot->fd;
}

bool storage_file_is_as_indexed(int fd, const struct stored_file *file,
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

    if (storage_file_is_as_indexed(fd, file, secret))
        return true;
    slot = find(files, file);
    if (slot != NULL)
        close_slot(slot);
    return false;
}
