/* A bucket, read a little at a time and waited for: for a check, which has no store and no loop of its own. */
#ifndef WEIR_STORAGE_BUCKET_H
#define WEIR_STORAGE_BUCKET_H

#include "storage/catalog/declaration.h"
#include "storage/objects/s3_list.h"

struct bucket;

/* Errors as storage_s3_remote_open() has them. */
enum weir_status storage_bucket_open(const struct s3_source *source, struct bucket **ret_bucket,
                                     struct weir_error *err) WEIR_MUST_USE;
void storage_bucket_close(struct bucket *bucket);
WEIR_DEFINE_AUTO(bucket, storage_bucket_close)

/* "s3://bucket/prefix", the bucket's. */
const char *storage_bucket_name(const struct bucket *bucket);
/* As storage_s3_remote_name() has it. */
const char *storage_bucket_path(const struct bucket *bucket, const char *key);
/* The first page of its listing, the bucket's. UNAVAILABLE: nobody answers; DENIED: what was answered is no listing. */
enum weir_status storage_bucket_list(struct bucket *bucket, const struct s3_page **ret_page,
                                     struct weir_error *err) WEIR_MUST_USE;
/* The first bytes of an object, all of it or `bytes_max`, into `beginning`, which is overwritten. Errors as of the
 * listing. */
enum weir_status storage_bucket_read(struct bucket *bucket, const struct s3_object *object,
                                     uint64_t bytes_max, struct weir_buf *beginning,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
