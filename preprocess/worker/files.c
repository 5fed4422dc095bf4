/* Open files of a worker. */
#include "preprocess/worker/files.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/host.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HINTS = 256, DISTRUSTED_MAX = 256 };

struct open_file {
    int fd; /* -1: the slot is free */
    uint64_t device, inode, size;
    int64_t mtime_ns;
    uint64_t path;    /* its hash, of a file that was described on another host; else 0 */
    uint64_t used;    /* when, by the cache's own clock */
    uint64_t checked; /* batch of the newest check */
    struct mapping mapping;
    uint64_t small_reads;
};

struct files {
    struct open_file slot[FILES_OPEN_MAX];
    uint64_t clock;
    uint64_t batch;
    uint64_t mapped;                     /* bytes, of all slots */
    uint64_t host;                       /* this one */
    uint64_t distrusted[DISTRUSTED_MAX]; /* version_of() files of another */
    size_t distrusted_count;             /* ever noted */
    uint64_t mismatches;
    uint8_t hint[HINTS]; /* by inode: the slot where such a one was found last */
};

struct files *preprocess_files_new(void)
{
    struct files *files = weir_calloc(1, sizeof(*files));
    files->host = weir_host_id();
    for (size_t i = 0; i < FILES_OPEN_MAX; i++)
        files->slot[i].fd = -1;
    return files;
}

void preprocess_files_begin(struct files *files)
{
    files->batch++;
}

static void close_slot(struct files *files, struct open_file *slot)
{
    files->mapped -= slot->mapping.size;
    preprocess_mapping_close(&slot->mapping);
    if (slot->fd >= 0)
        close(slot->fd);
    slot->fd = -1;
}

void preprocess_files_forget(struct files *files)
{
    for (size_t i = 0; i < FILES_OPEN_MAX; i++)
        close_slot(files, &files->slot[i]);
}

void preprocess_files_free(struct files *files)
{
    if (files == NULL)
        return;
    preprocess_files_forget(files);
    free(files);
}

bool preprocess_files_is_elsewhere(const struct files *files, const struct file_about *about)
{
    return about->host != 0 && about->host != files->host;
}

static uint64_t version_of(const struct file_about *about)
{
    return weir_hash64(weir_bytes_of(about->path), about->size ^ (uint64_t)about->mtime_ns);
}

bool preprocess_files_trusts(const struct files *files, const struct file_about *about)
{
    size_t noted = files->distrusted_count;
    size_t count = noted < DISTRUSTED_MAX ? noted : DISTRUSTED_MAX;
    uint64_t version = count > 0 ? version_of(about) : 0;
    for (size_t i = 0; i < count; i++) {
        if (files->distrusted[i] == version)
            return false;
    }
    return true;
}

void preprocess_files_distrust(struct files *files, const struct file_about *about)
{
    files->mismatches++;
    if (preprocess_files_trusts(files, about))
        files->distrusted[files->distrusted_count++ % DISTRUSTED_MAX] = version_of(about);
}

uint64_t preprocess_files_mismatches(const struct files *files)
{
    return files->mismatches;
}

/* Returns what tells a file of another host from others; 0 for one of this host. */
static uint64_t path_of(const struct files *files, const struct file_about *about)
{
    return preprocess_files_is_elsewhere(files, about) ? weir_hash64(weir_bytes_of(about->path), 0)
                                                       : 0;
}

/* `path` is path_of() the file. */
static bool is_same(const struct open_file *slot, const struct file_about *about, uint64_t path)
{
    bool is_it = path != 0 || (slot->device == about->device && slot->inode == about->inode);
    return slot->fd >= 0 && slot->path == path && is_it && slot->size == about->size &&
           (about->mtime_ns == 0 || slot->mtime_ns == about->mtime_ns);
}

static struct open_file *find(struct files *files, const struct file_about *about)
{
    uint8_t *hint = &files->hint[about->inode % HINTS];
    uint64_t path = path_of(files, about);
    if (is_same(&files->slot[*hint], about, path))
        return &files->slot[*hint];
    for (size_t i = 0; i < FILES_OPEN_MAX; i++) {
        if (!is_same(&files->slot[i], about, path))
            continue;
        *hint = (uint8_t)i;
        return &files->slot[i];
    }
    return NULL;
}

static struct open_file *least_used(struct files *files)
{
    struct open_file *least = &files->slot[0];
    for (size_t i = 0; i < FILES_OPEN_MAX; i++) {
        if (files->slot[i].fd < 0)
            return &files->slot[i];
        if (files->slot[i].used < least->used)
            least = &files->slot[i];
    }
    return least;
}

static bool describe(int fd, struct open_file *slot)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    slot->device = status.st_dev;
    slot->inode = status.st_ino;
    slot->size = (uint64_t)status.st_size;
    slot->mtime_ns = weir_mtime_ns(&status);
    return true;
}

static enum weir_status open_file(struct files *files, const struct file_about *about,
                                  struct open_file **ret_slot, struct weir_error *err)
{
    /* O_NONBLOCK: a fifo that took the file's place must not hang the worker. */
    int fd = open(about->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return weir_fail(err, errno == ENOENT || errno == ENOTDIR ? WEIR_STALE : WEIR_IO, "%s: %s",
                         about->path, strerror(errno));
    struct open_file found = {
        .fd = fd, .path = path_of(files, about), .used = ++files->clock, .checked = files->batch};
    if (!describe(fd, &found) || !is_same(&found, about, found.path)) {
        close(fd);
        return weir_fail(err, WEIR_STALE, "%s: is another file than the one located", about->path);
    }
    struct open_file *slot = least_used(files);
    close_slot(files, slot);
    *slot = found;
    *ret_slot = slot;
    return WEIR_OK;
}

/* A file that was written to since it was opened is no longer the one located. */
static bool is_unchanged(const struct open_file *slot, const struct file_about *about)
{
    struct open_file now = {.fd = slot->fd, .path = slot->path};
    return describe(slot->fd, &now) && is_same(&now, about, slot->path);
}

/* A mapping pays for the pages that are faulted in once the file has been read about that densely. */
static uint64_t reads_until_mapped(const struct open_file *slot)
{
    uint64_t reads = slot->size / FILES_MAP_BYTES_A_READ;
    return reads > FILES_MAP_READS_MIN ? reads : FILES_MAP_READS_MIN;
}

static void count_small_read(struct files *files, struct open_file *slot)
{
    if (slot->path != 0)
        return;
    if (++slot->small_reads != reads_until_mapped(slot) ||
        slot->size > FILES_MAPPED_BYTES_MAX - files->mapped)
        return;
    if (preprocess_mapping_open(&slot->mapping, slot->fd, slot->size))
        files->mapped += slot->size;
}

static bool read_range(struct files *files, struct open_file *slot, const struct file_range *range,
                       uint8_t *to)
{
    if (range->length <= FILES_SMALL_BYTES_MAX) {
        count_small_read(files, slot);
        struct mapping_range mapped = {mapping_at(&slot->mapping, range->offset, range->length),
                                       range->length};
        if (mapped.from != NULL && preprocess_mapping_copy(&mapped, 1, to))
            return true;
    }
    return weir_read_at(slot->fd, to, range->length, range->offset) == (ssize_t)range->length;
}

const struct mapping *preprocess_files_mapping(struct files *files, const struct file_about *about)
{
    const struct open_file *slot = find(files, about);
    bool is_mapped = slot != NULL && slot->checked == files->batch && slot->mapping.at != NULL;
    return is_mapped ? &slot->mapping : NULL;
}

enum weir_status preprocess_files_read(struct files *files, const struct file_range *range,
                                       struct weir_buf *out, struct weir_error *err)
{
    const struct file_about *about = range->file;
    struct open_file *slot = find(files, about);
    if (slot != NULL && slot->checked != files->batch && !is_unchanged(slot, about)) {
        close_slot(files, slot);
        slot = NULL;
    }
    if (slot == NULL) {
        enum weir_status status = open_file(files, about, &slot, err);
        if (status != WEIR_OK)
            return status;
    }
    weir_require(slot != NULL);
    slot->used = ++files->clock;
    slot->checked = files->batch;
    weir_buf_reserve(out, range->length);
    if (!read_range(files, slot, range, out->at + out->size))
        return weir_fail(err, WEIR_STALE, "%s: ends before byte %lu", about->path,
                         range->offset + range->length);
    out->size += range->length;
    return WEIR_OK;
}

bool preprocess_files_check(struct files *files, const struct file_about *about)
{
    struct open_file *slot = find(files, about);
    struct weir_error err;
    if (slot == NULL) /* others took its place */
        return open_file(files, about, &slot, &err) == WEIR_OK;
    if (is_unchanged(slot, about))
        return true;
    close_slot(files, slot);
    return false;
}
