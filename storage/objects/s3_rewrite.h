/* Rewriting an object without its erased records: fetched whole into a file of its own, read
 * through by its format, and every record whose hash is blocked overwritten in it. One at a time; nothing of it
 * outlives the process but the file, which the next one takes the place of. */
#ifndef WEIR_STORAGE_S3_REWRITE_H
#define WEIR_STORAGE_S3_REWRITE_H

#include "storage/objects/s3_remote.h"
#include "storage/store/store.h"

struct s3_rewrite;

struct s3_rewrite *storage_s3_rewrite_new(struct store *store);
/* Drops what is under way, and the file. */
void storage_s3_rewrite_free(struct s3_rewrite *rewrite);
void storage_s3_rewrite_drop(struct s3_rewrite *rewrite);
/* The place where it is made. */
const char *storage_s3_rewrite_path(const struct s3_rewrite *rewrite);

struct s3_rewrite_job {
    const struct s3_remote *remote; /* these live until it is done */
    uint32_t dataset;
    const char *key, *etag;
    uint64_t size;
};
enum s3_rewritten {
    S3_REWRITTEN,
    S3_REWRITTEN_OTHER, /* it is another object by now, or gone */
    S3_REWRITTEN_NOT    /* why */
};
typedef void s3_rewritten_fn(void *owner, enum s3_rewritten what, const char *why);

/* `done` is called once, never from inside. */
void storage_s3_rewrite_begin(struct s3_rewrite *rewrite, const struct s3_rewrite_job *job,
                              s3_rewritten_fn *done, void *owner);

#endif
