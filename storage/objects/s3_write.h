/* An object written again from a file, under a condition: only if it still is the one with a certain ETag. A store
 * that knows no conditions (501) is written to without one. The file is hashed first, in pieces between other
 * work; if it changes meanwhile the store refuses it. */
#ifndef WEIR_STORAGE_S3_WRITE_H
#define WEIR_STORAGE_S3_WRITE_H

#include "storage/objects/s3_call.h"
#include "storage/objects/s3_remote.h"

#define S3_WRITE_BYTES_MAX \
    (UINT64_C(5) << 30) /* of one PUT: parts of an upload cannot be bound to an ETag */

struct s3_write;

struct s3_write *storage_s3_write_new(struct s3_transport *transport);
/* Drops what is under way. */
void storage_s3_write_free(struct s3_write *write);

struct s3_write_job {
    const struct s3_remote *remote; /* these live until it is done */
    const char *key;
    const char *etag;        /* ETag that the object must still have */
    const char *path;        /* file with its new content */
    const char *const *also; /* other headers, as in s3_request */
};

/* `done` is given the store's answer, or IO, LIMIT of the file or what storage_s3_call_send() tells; never from
 * inside. */
void storage_s3_write_begin(struct s3_write *write, const struct s3_write_job *job,
                            s3_done_fn *done, void *owner);

#endif
