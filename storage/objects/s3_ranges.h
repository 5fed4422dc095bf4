/* Ranges of objects that stay where they are (`import: reference`): whoever needs bytes asks for
 * them, is called when they are there, and reads them then. What is near in an object is asked for
 * together, several fetches of a dataset go on at the same time, and each is bound to the ETag
 * that the object was indexed under: other bytes than those are never there. What has come stays in
 * a bounded cache (s3_cache.h), which the mirrors own. Owned by struct storage. */
#ifndef WEIR_STORAGE_S3_RANGES_H
#define WEIR_STORAGE_S3_RANGES_H

#include "storage/objects/s3_mirror.h"

enum { S3_RANGE_BYTES_MAX = 8 << 20 }; /* of one fetch */

struct s3_ranges;

struct s3_ranges *storage_s3_ranges_new(struct store *store, struct mirrors *mirrors);
void storage_s3_ranges_free(struct s3_ranges *ranges);

/* Bytes of a file of a dataset whose objects stay where they are. */
struct s3_span {
    const struct dataset *dataset;
    const struct stored_file *file;
    uint64_t offset, length;
};

/* A request that waits for bytes. */
struct s3_range_request;
/* NULL: all that exists of the bytes has come. Otherwise `why` some have not, which are to be requested again. What has
 * come is kept at least until the function returns. */
typedef void s3_range_done_fn(void *owner, const char *why);

/* NULL when all of them are there. `done` is called once, never from inside, and the request is over then; storage is
 * pumped after it. */
struct s3_range_request *storage_s3_ranges_request(struct s3_ranges *ranges,
                                                   const struct s3_span *spans, size_t count,
                                                   s3_range_done_fn *done, void *owner);
/* `done` is no longer called. NULL is fine. */
void storage_s3_range_request_drop(struct s3_range_request *request);

/* Number of its blocks that have yet to come. */
size_t storage_s3_ranges_missing(struct s3_ranges *ranges, const struct s3_span *span);
/* False when not all of it is there. */
bool storage_s3_ranges_read(struct s3_ranges *ranges, const struct s3_span *span, uint8_t *to);
/* A file without a name, of the size of theirs, that holds nothing but these ranges of one file; -1 when they are not
 * there, or there is no memory for it. */
int storage_s3_ranges_open(struct s3_ranges *ranges, const struct s3_span *spans, size_t count);
/* Returns why the newest request for objects of the dataset failed, for people; NULL: it did not. */
const char *storage_s3_ranges_trouble(const struct s3_ranges *ranges,
                                      const struct dataset *dataset);
/* Forgets the object and overwrites its bytes. */
void storage_s3_ranges_forget(struct s3_ranges *ranges, const struct dataset *dataset,
                              const char *path);

#endif
