/* The walk: see listing.h. */
#include "storage/listing.h"

#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4000 };

struct listing {
    const struct dataset *dataset;
    char **folders; /* to be read, relative; "" is the source itself */
    size_t folder_count, folder_capacity;
    DIR *open; /* the folder being read, */
    char *open_path;
    struct listed_file *files;
    size_t count, capacity;
};

static void add_folder(struct listing *listing, char *path)
{
    if (listing->folder_count == listing->folder_capacity) {
        listing->folder_capacity = 2 * listing->folder_capacity + 16;
        listing->folders = weir_realloc(listing->folders, listing->folder_capacity, sizeof(char *));
    }
    listing->folders[listing->folder_count++] = path;
}

struct listing *storage_listing_new(const struct dataset *dataset)
{
    struct listing *listing = weir_calloc(1, sizeof *listing);

    listing->dataset = dataset;
    add_folder(listing, weir_strdup(""));
    return listing;
}

void storage_listing_free(struct listing *listing)
{
    if (!listing)
        return;
    if (listing->open)
        closedir(listing->open);
    free(listing->open_path);
    for (size_t i = 0; i < listing->folder_count; i++)
        free(listing->folders[i]);
    for (size_t i = 0; i < listing->count; i++)
        free(listing->files[i].path);
    free(listing->folders);
    free(listing->files);
    free(listing);
}

/* A folder that vanished since it was listed is no error; a missing source is. */
static enum weir_status open_folder(struct listing *listing, storage_folder_fn *on_folder,
                                    void *owner, struct weir_error *err)
{
    char *path = listing->folders[--listing->folder_count];
    bool is_root = *path == '\0';
    WEIR_AUTO_FREE char *absolute =
        weir_format("%s%s%s", listing->dataset->root, is_root ? "" : "/", path);
    int fd;

    free(listing->open_path);
    listing->open_path = path;
    on_folder(owner, absolute);
    fd = open(absolute, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_root ? 0 : O_NOFOLLOW));
    if (fd >= 0)
        listing->open = fdopendir(fd);
    if (listing->open)
        return WEIR_OK;
    if (fd >= 0)
        close(fd);
    if (!is_root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND, "%s: cannot read the folder: %s", absolute,
                     strerror(errno));
}

static bool is_included(const struct dataset *dataset, const char *path, const char *name)
{
    const struct declaration *d = dataset->declaration;
    const char *pattern = d->source.include;

    if (d->wants_manifest && strcmp(path, d->source.manifest) == 0)
        return false;
    if (strchr(pattern, '/'))
        return fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static void look_at(struct listing *listing, const char *name)
{
    const char *below = listing->open_path;
    WEIR_AUTO_FREE char *path = weir_format("%s%s%s", below, *below ? "/" : "", name);
    struct stat found;

    if (name[0] == '.' || strlen(path) > PATH_BYTES_MAX ||
        fstatat(dirfd(listing->open), name, &found, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISDIR(found.st_mode) && depth_of(path) < LISTING_DEPTH_MAX) {
        add_folder(listing, WEIR_TAKE(path));
        return;
    }
    if (!S_ISREG(found.st_mode) || !is_included(listing->dataset, path, name) ||
        listing->count == LISTING_FILES_MAX)
        return;
    if (listing->count == listing->capacity) {
        listing->capacity = 2 * listing->capacity + 256;
        listing->files = weir_realloc(listing->files, listing->capacity, sizeof *listing->files);
    }
    listing->files[listing->count++] = (struct listed_file){.path = WEIR_TAKE(path), .stat = found};
}

static int by_path(const void *a, const void *b)
{
    const struct listed_file *x = a, *y = b;

    return strcmp(x->path, y->path);
}

enum weir_status storage_listing_step(struct listing *listing, size_t entries,
                                      storage_folder_fn *on_folder, void *owner, bool *ret_done,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_done = false;
    while (status == WEIR_OK && entries-- > 0) {
        const struct dirent *entry;

        if (!listing->open) {
            if (listing->folder_count == 0) {
                if (listing->count > 0)
                    qsort(listing->files, listing->count, sizeof *listing->files, by_path);
                *ret_done = true;
                return WEIR_OK;
            }
            status = open_folder(listing, on_folder, owner, err);
            continue;
        }
        entry = readdir(listing->open);
        if (entry) {
            look_at(listing, entry->d_name);
        } else {
            closedir(listing->open);
            listing->open = NULL;
        }
    }
    return status;
}

const struct listed_file *storage_listing_files(const struct listing *listing, size_t *ret_count)
{
    *ret_count = listing->count;
    return listing->files;
}
