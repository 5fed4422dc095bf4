/* Walks a source folder, or parts of it, and tells the files that count one after the other in bytewise
 * order of their paths, which is not the order of a tree: `a.b` comes before `a/b`. Holds the names of
 * the folders it stands in and nothing else, within a bound (name_window.h).
 *
 * Symbolic links and names that begin with a dot are passed over: paths stay inside the source, and a
 * writer can prepare a file as .name and rename it. A folder is opened from the open folder it lies in, so
 * that nobody can lead the walk outside by swapping one for a link. */
#ifndef WEIR_STORAGE_LISTING_H
#define WEIR_STORAGE_LISTING_H

#include "storage/catalog/catalog.h"
#include "storage/catalog/scope.h"

#include <sys/stat.h>

enum {
    LISTING_DEPTH_MAX = 64,
    LISTING_PATH_MAX = 4000,
    LISTING_NAMES_BYTES_MAX = 32 << 20, /* of the first folder; half as much one further down, … */
};

enum listed_kind {
    LISTED_NOTHING, /* some work is done; ask again */
    LISTED_FILE,
    LISTED_UNREADABLE, /* nothing is known of `path`, or if it ends in a slash of all below */
    LISTED_END,
};

struct listed {
    enum listed_kind kind;
    const char *path;   /* relative to the source; valid until the next call */
    struct stat stat;   /* LISTED_FILE */
    const char *reason; /* LISTED_UNREADABLE */
};

struct listing;

/* Called with each folder, open as `fd`, before it is read, so that it can be watched; "" is the source. */
typedef void storage_folder_fn(void *owner, const char *folder, int fd);

/* `dataset` and the sealed `scope` are borrowed for as long as the listing lives. */
struct listing *storage_listing_new(const struct dataset *dataset, const struct scope *scope,
                                    storage_folder_fn *on_folder, void *owner);
void storage_listing_free(struct listing *listing);

/* True when a walk reports a file of this path, or reads it for what it says of others: a manifest, a sidecar. */
bool storage_listing_wants(const struct dataset *dataset, const char *path);
/* True when a walk reports a file of this path. */
bool storage_listing_is_sample(const struct dataset *dataset, const char *path);

/* Looks at up to about 1000 directory entries. NOT_FOUND when there is no source folder: then
 * nothing is known about its files. */
enum weir_status storage_listing_next(struct listing *listing, struct listed *ret_listed,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
