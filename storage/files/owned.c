/* Files that storage owns: see owned.h. */
#include "storage/files/owned.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/expand.h"
#include "storage/files/prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

bool storage_owns(const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;

    return d->is_copied || d->is_pushed || d->is_mirrored;
}

bool storage_mirrors(const struct dataset *dataset)
{
    return dataset->declaration->is_mirrored && !dataset->declaration->is_remote;
}

/* A copy that was expanded has a length of its own. */
static bool has_length(const struct dataset *dataset, const struct stored_file *file,
                       const struct stat *found)
{
    uint64_t size = (uint64_t)found->st_size;

    return storage_is_expanded(dataset, file->path) ? size >= file->indexed : size == file->size;
}

static bool set_time(const char *path, const struct stored_file *file, const struct stat *found)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, weir_mtime_of_ns(file->mtime_ns)};

    return file->mtime_ns == 0 || weir_mtime_ns(found) == file->mtime_ns ||
           utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static void become(const struct dataset *dataset, struct stored_file *file,
                   const struct stat *found)
{
    file->device = found->st_dev;
    file->inode = found->st_ino;
    if (!dataset->declaration->is_copied) /* what is scanned, or appended to, is this very file */
        file->source_inode = found->st_ino;
}

enum owned_state storage_owned_recognise(const struct dataset *dataset, struct stored_file *file)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    struct stat found;

    if (lstat(path, &found) < 0)
        return errno == ENOENT || errno == ENOTDIR ? OWNED_GONE : OWNED_OTHER;
    if (!S_ISREG(found.st_mode) || !has_length(dataset, file, &found) ||
        !set_time(path, file, &found))
        return OWNED_OTHER;
    if (file->device == found.st_dev && file->inode == found.st_ino)
        return OWNED_SAME;
    become(dataset, file, &found);
    return OWNED_RECOGNISED;
}

enum owned_state storage_referred_recognise(const struct dataset *dataset,
                                            const struct storage_secret *secret,
                                            struct stored_file *file)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    struct stat found;

    if (lstat(path, &found) < 0)
        return errno == ENOENT || errno == ENOTDIR ? OWNED_GONE : OWNED_OTHER;
    if (!S_ISREG(found.st_mode) || (uint64_t)found.st_size != file->size ||
        weir_mtime_ns(&found) != file->mtime_ns)
        return OWNED_OTHER;
    if (file->device == found.st_dev && file->inode == found.st_ino)
        return OWNED_SAME;
    if (!dataset->declaration->format->is_one_sample &&
        (file->prefix_hash == 0 ||
         storage_source_hash(dataset, secret, file->path, file->indexed) != file->prefix_hash))
        return OWNED_OTHER;
    become(dataset, file, &found);
    return OWNED_RECOGNISED;
}
