/* Walks a source folder in pieces and lists the files that count, in bytewise path order. Symbolic links
 * and names that begin with a dot are passed over: paths stay inside the folder, and a writer can
 * prepare a file as .name and rename it. */
#ifndef WEIR_STORAGE_LISTING_H
#define WEIR_STORAGE_LISTING_H

#include "storage/catalog.h"

#include <sys/stat.h>

enum { LISTING_DEPTH_MAX = 64, LISTING_FILES_MAX = 50000000 };

struct listed_file {
    char *path; /* relative to the source */
    struct stat stat;
};

struct listing;

struct listing *storage_listing_new(const struct dataset *dataset);
void storage_listing_free(struct listing *listing);

/* Called with each folder before it is read, so that it can be watched. */
typedef void storage_folder_fn(void *owner, const char *absolute);

/* Looks at `entries` more directory entries; *ret_done when the walk is complete. NOT_FOUND when there
 * is no source folder: then nothing is known about its files. */
enum weir_status storage_listing_step(struct listing *listing, size_t entries,
                                      storage_folder_fn *on_folder, void *owner, bool *ret_done,
                                      struct weir_error *err) WEIR_MUST_USE;
/* After the walk; borrowed from the listing. */
const struct listed_file *storage_listing_files(const struct listing *listing, size_t *ret_count);

#endif
