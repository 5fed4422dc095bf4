/* Directories into archives and back. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/model_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- packing ---- */

struct packed_file {
    char *name; /* below the directory */
    void *at;   /* mapped */
    size_t size;
    uint8_t header[WEIR_TAR_BLOCK];
};

struct packing {
    const char *directory;
    struct packed_file *files;
    size_t count, capacity;
    uint64_t bytes;
};

static void packing_fini(struct packing *packing)
{
    for (size_t i = 0; i < packing->count; i++) {
        free(packing->files[i].name);
        weir_file_unmap(packing->files[i].at, packing->files[i].size);
    }
    free(packing->files);
}

static enum weir_status add_file(struct packing *packing, const char *name, const char *path,
                                 struct weir_error *err)
{
    if (packing->count == WEIR_MODEL_PACK_FILES_MAX)
        return weir_fail(err, WEIR_LIMIT, "model %s: expected at most %d files", packing->directory,
                         WEIR_MODEL_PACK_FILES_MAX);
    packing->files =
        weir_grow(packing->files, packing->count, &packing->capacity, sizeof(*packing->files));
    struct packed_file *file = &packing->files[packing->count];
    *file = (struct packed_file){.at = NULL};
    enum weir_status status = weir_file_map_no_link(path, &file->at, &file->size, err);
    if (status != WEIR_OK)
        return status;
    file->name = weir_strdup(name);
    packing->count++;
    packing->bytes += file->size + 2 * (uint64_t)WEIR_TAR_BLOCK;
    if (packing->bytes > WEIR_MODEL_PACK_BYTES_MAX)
        return weir_fail(err, WEIR_LIMIT, "model %s: expected at most %d bytes", packing->directory,
                         WEIR_MODEL_PACK_BYTES_MAX);
    return weir_model_pack_header(name, file->size, file->header, err);
}

static enum weir_status add_directory(struct packing *packing, const char *name, size_t depth,
                                      struct weir_error *err);

static enum weir_status add_entry(struct packing *packing, const char *folder, const char *entry,
                                  size_t depth, struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("%s%s%s", folder, folder[0] != '\0' ? "/" : "", entry);
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", packing->directory, name);
    struct stat about;

    if (lstat(path, &about) != 0)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    if (S_ISREG(about.st_mode))
        return add_file(packing, name, path, err);
    if (S_ISDIR(about.st_mode) && depth < WEIR_MODEL_PACK_DEPTH_MAX)
        return add_directory(packing, name, depth + 1, err);
    return weir_fail(err, WEIR_INVALID,
                     "model %s: found '%.200s', expected files, and at most %d directories in each "
                     "other, no links",
                     packing->directory, name, WEIR_MODEL_PACK_DEPTH_MAX);
}

static enum weir_status add_directory(struct packing *packing, const char *name, size_t depth,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", packing->directory, name);
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    enum weir_status status = WEIR_OK;

    if (directory == NULL)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = add_entry(packing, name, entry->d_name, depth, err);
    (void)closedir(directory);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct packed_file *one = a, *other = b;

    return strcmp(one->name, other->name);
}

static enum weir_status write_all(const struct packing *packing, const char *path,
                                  struct weir_error *err)
{
    static const uint8_t ZEROS[2 * WEIR_TAR_BLOCK];
    WEIR_AUTO_FREE struct weir_bytes *pieces = weir_calloc(3 * packing->count + 1, sizeof(*pieces));
    size_t count = 0;

    for (size_t i = 0; i < packing->count; i++) {
        const struct packed_file *file = &packing->files[i];
        size_t over = file->size % WEIR_TAR_BLOCK;
        pieces[count++] = weir_bytes(file->header, WEIR_TAR_BLOCK);
        pieces[count++] = weir_bytes(file->at, file->size);
        pieces[count++] = weir_bytes(ZEROS, over > 0 ? WEIR_TAR_BLOCK - over : 0);
    }
    pieces[count++] = weir_bytes(ZEROS, sizeof(ZEROS));
    return weir_file_write_pieces(path, pieces, count, err);
}

enum weir_status weir_model_pack_write(const char *directory, const char *path,
                                       struct weir_error *err)
{
    struct packing packing = {.directory = directory};
    enum weir_status status = add_directory(&packing, "", 0, err);

    if (status == WEIR_OK && packing.count == 0)
        status = weir_fail(err, WEIR_INVALID, "model %s: expected a file in it", directory);
    if (status == WEIR_OK) {
        qsort(packing.files, packing.count, sizeof(*packing.files), by_name);
        status = write_all(&packing, path, err);
    }
    packing_fini(&packing);
    return status;
}

/* ---- unpacking ---- */

static enum weir_status check_all(struct weir_bytes pack, struct weir_error *err)
{
    struct weir_model_pack_reader reader = {.pack = pack};
    enum weir_status status = WEIR_OK;

    if (pack.size > WEIR_MODEL_PACK_BYTES_MAX)
        return weir_fail(err, WEIR_LIMIT, "packed model: expected at most %d bytes, found %zu",
                         WEIR_MODEL_PACK_BYTES_MAX, pack.size);
    while (status == WEIR_OK)
        status = weir_model_pack_next(&reader, err);
    return status == WEIR_NOT_FOUND ? WEIR_OK : status;
}

/* Of a path below a directory that nobody else has written in. */
static enum weir_status make_parents(char *path, size_t from, struct weir_error *err)
{
    for (char *at = strchr(path + from, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        bool is_there = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!is_there)
            weir_ignore(weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno)));
        *at = '/';
        if (!is_there)
            return WEIR_IO;
    }
    return WEIR_OK;
}

static enum weir_status write_one(const struct weir_model_pack_reader *reader,
                                  const char *directory, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", directory, reader->name);
    enum weir_status status = make_parents(path, strlen(directory) + 1, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd >= 0 && weir_write_all(fd, reader->bytes)
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

enum weir_status weir_model_pack_unpack(struct weir_bytes pack, const char *directory,
                                        struct weir_error *err)
{
    struct weir_model_pack_reader reader = {.pack = pack};
    struct weir_error unseen;
    enum weir_status status = check_all(pack, err);

    if (status != WEIR_OK)
        return status;
    if (mkdir(directory, 0777) != 0)
        return weir_fail(err, errno == EEXIST ? WEIR_EXISTS : WEIR_IO, "%s: cannot be made: %s",
                         directory, strerror(errno));
    while (status == WEIR_OK && (status = weir_model_pack_next(&reader, err)) == WEIR_OK)
        status = write_one(&reader, directory, err);
    if (status == WEIR_NOT_FOUND)
        return WEIR_OK;
    weir_ignore(weir_remove_tree(directory, &unseen));
    return status;
}
