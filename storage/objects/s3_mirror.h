/* Mirrors of buckets: each object of a dataset that is read from an object store lies as a file
 * below DATA_DIR/storage/DATASET, where scans find it like any other; of `import: reference` as a
 * shell (s3_shell.h). A mirror lists its bucket again and again, fetches what is new or has another
 * ETag, size or time, and removes what is gone. What no scan would look at (names that `include`
 * leaves out) is not fetched.
 *
 * Fetched in the order of keys, a few at a time (s3_fetch.h): a file is there whole or not at all, and stays what it is
 * if the object holds the same bytes.
 * What is known of the bucket is in Postgres (table object); killed at any point, the next pass goes on, and a
 * file that had been fetched stays the one it was. Owned by struct storage. */
#ifndef WEIR_STORAGE_S3_MIRROR_H
#define WEIR_STORAGE_S3_MIRROR_H

#include "storage/store/store.h"

struct mirrors;
struct s3_cache;

/* Called when files of the dataset, which is marked dirty, have changed. */
typedef void storage_mirrored_fn(void *owner);

struct mirrors *storage_mirrors_new(struct store *store, storage_mirrored_fn *mirrored,
                                    void *owner);
void storage_mirrors_free(struct mirrors *mirrors);
/* The fetched blocks of objects that stay in their buckets (s3_ranges.h); the mirrors own it. */
struct s3_cache *storage_mirrors_cache(const struct mirrors *mirrors);
/* Sees to it that the dataset's mirror exists and works. False as long as it has never been complete: a scan
 * would not see everything. */
bool storage_mirror_is_ready(struct mirrors *mirrors, const struct dataset *dataset);
/* The next pass begins now, unless one is under way. */
void storage_mirror_hurry(struct mirrors *mirrors, const struct dataset *dataset);
/* The remote of its bucket; NULL when it cannot be asked, which the trouble says. */
const struct s3_remote *storage_mirror_remote(struct mirrors *mirrors,
                                              const struct dataset *dataset);
/* The certificates that vouch for one of the stores, by their hash (s3_authority.h); NULL: for none. */
const struct s3_authority *storage_mirrors_authority(const struct mirrors *mirrors,
                                                     const char *hash);
/* True when an erasure has yet to rewrite the object of this path. */
bool storage_mirror_rewrites(struct mirrors *mirrors, const struct dataset *dataset,
                             const char *path);
/* An erasure has written the object under `key`, and it is known as it is now: an older listing is not believed. */
void storage_mirror_wrote(struct mirrors *mirrors, const struct dataset *dataset, const char *key);
/* The dataset's mirror stops; the next scan begins another one, as the dataset is declared then. */
void storage_mirror_end(struct mirrors *mirrors, const struct dataset *dataset);
/* Mirrors of datasets that the catalog no longer has stop. */
void storage_mirrors_end_removed(struct mirrors *mirrors);
/* Why the newest pass failed, or NULL. */
const char *storage_mirror_trouble(const struct mirrors *mirrors, const struct dataset *dataset);

#endif
