/* The walk: see listing.h. */
#include "storage/files/listing.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/service/roots.h"
#include "storage/files/name_window.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES_PER_STEP = 1000, NAMES_BYTES_MIN = 4096 };

/* A folder that the walk stands in. */
struct level {
    DIR *directory;
    struct name_window *names;
    size_t path_size; /* of the path that leads here, with its slash */
    bool is_read;     /* its names are in the window */
};

struct listing {
    const struct dataset *dataset;
    const struct scope *scope;
    storage_folder_fn *on_folder;
    void *owner;
    int root;
    struct stat root_stat;
    size_t range; /* of the scope: the next one */
    struct level levels[LISTING_DEPTH_MAX + 1];
    size_t depth; /* levels in use */
    struct weir_buf path;
};

struct listing *storage_listing_new(const struct dataset *dataset, const struct scope *scope,
                                    storage_folder_fn *on_folder, void *owner)
{
    struct listing *listing = weir_calloc(1, sizeof(*listing));

    listing->dataset = dataset;
    listing->scope = scope;
    listing->on_folder = on_folder;
    listing->owner = owner;
    listing->root = -1;
    return listing;
}

static void leave(struct listing *listing)
{
    struct level *level = &listing->levels[--listing->depth];

    storage_name_window_free(level->names);
    closedir(level->directory);
    *level = (struct level){0};
}

void storage_listing_free(struct listing *listing)
{
    if (listing == NULL)
        return;
    while (listing->depth > 0)
        leave(listing);
    if (listing->root >= 0)
        close(listing->root);
    weir_buf_fini(&listing->path);
    free(listing);
}

static void set_path(struct listing *listing, size_t keep, const char *rest)
{
    listing->path.size = keep;
    weir_buf_append_text(&listing->path, rest);
    (void)weir_buf_text(&listing->path);
}

static void tell_unreadable(struct listing *listing, const char *reason, struct listed *listed)
{
    *listed = (struct listed){
        .kind = LISTED_UNREADABLE, .path = weir_buf_text(&listing->path), .reason = reason};
}

/* ---- folders ---- */

static bool is_gone(int code)
{
    return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EXDEV;
}

static void tell_folder(const struct listing *listing, int fd)
{
    size_t size = listing->path.size;
    WEIR_AUTO_FREE char *folder =
        weir_strndup((const char *)listing->path.at, size > 0 ? size - 1 : 0);

    listing->on_folder(listing->owner, folder, fd);
}

/* Half of what the level above has, down to a page: all levels together stay within twice the first. */
static size_t names_bytes(size_t depth)
{
    size_t bytes = depth < 16 ? (size_t)LISTING_NAMES_BYTES_MAX >> depth : 0;

    return bytes > NAMES_BYTES_MIN ? bytes : NAMES_BYTES_MIN;
}

/* The folder whose path, with its slash, is in listing->path; `fd` is taken over. One that vanished since
 * it was listed is no error: nothing lies below it. */
static void enter(struct listing *listing, int fd, struct listed *listed)
{
    struct level *level = &listing->levels[listing->depth];
    DIR *directory = NULL;

    if (fd >= 0) {
        tell_folder(listing, fd);
        directory = fdopendir(fd);
    }
    if (directory == NULL) {
        int code = errno;

        if (fd >= 0)
            close(fd);
        if (!is_gone(code))
            tell_unreadable(listing, strerror(code), listed);
        return;
    }
    *level = (struct level){
        .directory = directory,
        .names = storage_name_window_new(names_bytes(listing->depth)),
        .path_size = listing->path.size,
    };
    listing->depth++;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static void descend(struct listing *listing, const char *name, struct listed *listed)
{
    const struct level *level = &listing->levels[listing->depth - 1];
    WEIR_AUTO_FREE char *plain = weir_strndup(name, strlen(name) - 1);

    if (depth_of(weir_buf_text(&listing->path)) > LISTING_DEPTH_MAX ||
        listing->path.size > LISTING_PATH_MAX)
        tell_unreadable(listing, "found a folder deeper than 64 folders or 4000 bytes", listed);
    else
        enter(
            listing,
            openat(dirfd(level->directory), plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
            listed);
}

/* ---- names ---- */

static bool is_sidecar(const char *ending, const char *name)
{
    size_t size = strlen(name), tail = strlen(ending);

    return size >= tail && strcmp(name + size - tail, ending) == 0;
}

static bool is_included(const struct dataset *dataset, const char *path, const char *name)
{
    const struct declaration *d = dataset->declaration;
    const char *pattern = d->source.include;

    if ((d->wants_manifest && strcmp(path, d->source.manifest) == 0) ||
        (d->format != NULL && weir_str_equal(d->format->passes_over, name)))
        return false;
    if (d->wants_sidecar && is_sidecar(d->source.sidecar, name))
        return false;
    if (strchr(pattern, '/') != NULL)
        return fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

static bool is_hidden(const char *path)
{
    return path[0] == '.' || strstr(path, "/.") != NULL;
}

bool storage_listing_is_sample(const struct dataset *dataset, const char *path)
{
    return !is_hidden(path) && is_included(dataset, path, weir_path_name(path));
}

bool storage_listing_wants(const struct dataset *dataset, const char *path)
{
    const struct declaration *d = dataset->declaration;

    return storage_listing_is_sample(dataset, path) ||
           (!is_hidden(path) && ((d->wants_sidecar && is_sidecar(d->source.sidecar, path)) ||
                                 (d->wants_manifest && strcmp(path, d->source.manifest) == 0)));
}

static unsigned char type_of(const struct level *level, const struct dirent *entry)
{
    struct stat found;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(dirfd(level->directory), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return S_ISDIR(found.st_mode) ? DT_DIR : S_ISREG(found.st_mode) ? DT_REG : DT_UNKNOWN;
}

static void take_name(struct listing *listing, const struct level *level,
                      const struct dirent *entry)
{
    unsigned char type = entry->d_name[0] == '.' ? DT_UNKNOWN : type_of(level, entry);

    if (type != DT_DIR && type != DT_REG)
        return;
    set_path(listing, level->path_size, entry->d_name);
    if (type == DT_DIR ||
        is_included(listing->dataset, weir_buf_text(&listing->path), entry->d_name))
        storage_name_window_add(level->names, entry->d_name, type == DT_DIR);
}

static void read_names(struct listing *listing, struct level *level, struct listed *listed)
{
    for (int i = 0; i < ENTRIES_PER_STEP; i++) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(level->directory);
        if (entry == NULL) {
            level->is_read = true;
            if (errno == 0)
                return;
            set_path(listing, level->path_size, "");
            tell_unreadable(listing, strerror(errno), listed);
            leave(listing);
            return;
        }
        take_name(listing, level, entry);
    }
}

/* The file whose path is in listing->path. */
static void look_at(struct listing *listing, int folder, const char *name, struct listed *listed)
{
    struct stat found;

    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0) {
        if (!is_gone(errno))
            tell_unreadable(listing, strerror(errno), listed);
        return;
    }
    if (!S_ISREG(found.st_mode))
        return;
    if (listing->path.size > LISTING_PATH_MAX)
        tell_unreadable(listing, "found a path of more than 4000 bytes", listed);
    else
        *listed = (struct listed){
            .kind = LISTED_FILE, .path = weir_buf_text(&listing->path), .stat = found};
}

static void step_level(struct listing *listing, struct listed *listed)
{
    struct level *level = &listing->levels[listing->depth - 1];
    const char *name;

    if (!level->is_read) {
        read_names(listing, level, listed);
        return;
    }
    name = storage_name_window_next(level->names);
    if (name == NULL) {
        level->is_read = false;
        if (storage_name_window_again(level->names))
            rewinddir(level->directory);
        else
            leave(listing);
        return;
    }
    set_path(listing, level->path_size, name);
    if (name[strlen(name) - 1] == '/')
        descend(listing, name, listed);
    else
        look_at(listing, dirfd(level->directory), name, listed);
}

/* ---- ranges ---- */

/* A single file: its folder is opened without following links, then it is like any other. */
static void look_at_one(struct listing *listing, const char *path, struct listed *listed)
{
    const char *name = weir_path_name(path);
    WEIR_AUTO_FREE char *folder =
        name != path ? weir_strndup(path, (size_t)(name - path) - 1) : NULL;
    WEIR_AUTO_FD int below =
        weir_open_beneath_at(listing->root, folder != NULL ? folder : ".", O_PATH | O_DIRECTORY);

    if (!is_included(listing->dataset, path, name))
        return;
    if (below >= 0)
        look_at(listing, below, name, listed);
    else if (!is_gone(errno))
        tell_unreadable(listing, strerror(errno), listed);
}

static void step_range(struct listing *listing, struct listed *listed)
{
    const char *range = listing->scope->ranges[listing->range++];
    size_t size = strlen(range);

    set_path(listing, 0, range);
    if (size > 0 && range[size - 1] != '/') {
        look_at_one(listing, range, listed);
        return;
    }
    enter(listing,
          weir_open_beneath_at(listing->root, size > 0 ? range : ".", O_RDONLY | O_DIRECTORY),
          listed);
}

static enum weir_status fail_source(const struct listing *listing, struct weir_error *err)
{
    return weir_fail(err, WEIR_NOT_FOUND, "%s: cannot read the folder: %s", listing->dataset->root,
                     strerror(errno));
}

/* Weir keeps it in the data directory. */
static bool is_mine(const struct dataset *dataset)
{
    return dataset->declaration->is_pushed || dataset->declaration->is_mirrored;
}

/* A source that was declared before the data directory was moved into it. */
static enum weir_status check_is_apart(const struct listing *listing, struct weir_error *err)
{
    WEIR_AUTO_FREE char *own = weir_roots_own_within(listing->dataset->root);

    if (own == NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED,
                     "%s: contains %s, a directory of Weir's own, and is no longer looked at: "
                     "move that elsewhere",
                     listing->dataset->root, own);
}

static enum weir_status open_root(struct listing *listing, struct weir_error *err)
{
    listing->root = open(listing->dataset->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listing->root < 0 || fstat(listing->root, &listing->root_stat) < 0)
        return fail_source(listing, err);
    if (is_mine(listing->dataset))
        return WEIR_OK;
    if (!weir_roots_allow_open(listing->root))
        return weir_fail(
            err, WEIR_DENIED,
            "%s: lies in none of `roots` of the system file, or leads out of them or into the data "
            "directory: add its folder there",
            listing->dataset->root);
    return check_is_apart(listing, err);
}

/* A source that was taken away during the walk looks empty from then on. */
static enum weir_status check_root(const struct listing *listing, struct weir_error *err)
{
    struct stat now;

    if (stat(listing->dataset->root, &now) < 0)
        return fail_source(listing, err);
    if (now.st_dev != listing->root_stat.st_dev || now.st_ino != listing->root_stat.st_ino)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: became another folder while it was scanned",
                         listing->dataset->root);
    return WEIR_OK;
}

enum weir_status storage_listing_next(struct listing *listing, struct listed *ret_listed,
                                      struct weir_error *err)
{
    *ret_listed = (struct listed){.kind = LISTED_NOTHING};
    if (listing->root < 0)
        return open_root(listing, err);
    if (listing->depth > 0) {
        step_level(listing, ret_listed);
        return WEIR_OK;
    }
    if (listing->range < listing->scope->count) {
        step_range(listing, ret_listed);
        return WEIR_OK;
    }
    ret_listed->kind = LISTED_END;
    return check_root(listing, err);
}
