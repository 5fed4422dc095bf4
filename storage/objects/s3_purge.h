/* An erasure from one object of a bucket: lists its versions, takes the step that s3_aim.h names, and lists
 * them again, until nothing is left to do. One object at a time. */
#ifndef WEIR_STORAGE_S3_PURGE_H
#define WEIR_STORAGE_S3_PURGE_H

#include "storage/objects/s3_aim.h"
#include "storage/objects/s3_remote.h"
#include "storage/objects/s3_transport.h"

enum s3_end {
    S3_END_CLEAN,   /* nothing of the erased is there now */
    S3_END_LEFT,    /* something is, and is not Weir's to change */
    S3_END_LATER,   /* not now */
    S3_END_REFUSED, /* not without a person's doing something, or a lock's coming to its end */
    S3_END_SILENT,  /* the store does not answer, whatever it is asked */
};

struct s3_outcome {
    enum s3_end end;
    const char *why; /* for a person; valid during the callback; "" when clean */
};

struct s3_purge_job {
    const struct s3_remote *remote; /* these live until it is done */
    const char *key;
    const char *path; /* of the file that a rewrite sends */
    /* NULL: it is there. Else it is made from the object with this ETag, and storage_s3_purge_prepared() called. */
    void (*prepare)(void *owner, const char *etag);
    /* Returns the aim, asked again for each list of versions; its pointers live until the next call. */
    enum weir_status (*look)(void *owner, const struct s3_versions *versions,
                             struct s3_aim *ret_aim, struct weir_error *err);
    /* A rewrite has been sent; it has this ETag. */
    enum weir_status (*wrote)(void *owner, const char *etag, struct weir_error *err);
    void (*done)(void *owner, const struct s3_outcome *outcome); /* never from inside */
    void *owner;
};

struct s3_purge;

struct s3_purge *storage_s3_purge_new(struct s3_transport *transport);
/* Drops what is under way. */
void storage_s3_purge_free(struct s3_purge *purge);
void storage_s3_purge_begin(struct s3_purge *purge, const struct s3_purge_job *job);
/* The file is made; or it ends, which `problem` says. Not from inside `prepare`. */
void storage_s3_purge_prepared(struct s3_purge *purge, const struct s3_outcome *problem);

/* Metadata of an object that was written again: the ETag of the one it took the place of. */
#define S3_REPLACES "x-amz-meta-weir-replaces"

#endif
