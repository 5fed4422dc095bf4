/* A bucket as a source: where it is, who asks, and how each request is put. Owned by a mirror. */
#ifndef WEIR_STORAGE_S3_REMOTE_H
#define WEIR_STORAGE_S3_REMOTE_H

#include "core/base/error.h"
#include "storage/catalog/declaration.h"
#include "storage/objects/s3_signer.h"

struct s3_remote {
    char *base;   /* "http://127.0.0.1:8080" */
    char *host;   /* as in the Host header */
    char *path;   /* before the key: "/bucket/" or "/", encoded */
    char *prefix; /* of the keys: "" or something ending in a slash */
    char *region;
    char *name; /* "s3://bucket/prefix", for people */
    struct s3_signer *signer;
};

/* Reads the credentials that the data set names, as the system file says. INVALID, NOT_FOUND with what is missing,
 * DENIED when they may not be sent there. */
enum weir_status storage_s3_remote_open(const struct s3_source *source,
                                        struct s3_remote *ret_remote,
                                        struct weir_error *err) WEIR_MUST_USE;
void storage_s3_remote_close(struct s3_remote *remote);
/* Returns the path of the file that stands for `key`, a part of it; NULL: no file can have it. */
const char *storage_s3_remote_name(const struct s3_remote *remote, const char *key);

/* The page of the listing after `token` (NULL: the first). */
void storage_s3_request_list(const struct s3_remote *remote, const char *token,
                             struct s3_signed_request *ret_request);
/* Bytes from … to (inclusive) of an object, as long as it is the one with this ETag. */
struct s3_piece {
    const char *key;
    const char *etag;
    uint64_t from, to;
};
void storage_s3_request_piece(const struct s3_remote *remote, const struct s3_piece *piece,
                              struct s3_signed_request *ret_request);
/* The first versions of what begins with `key`. */
void storage_s3_request_versions(const struct s3_remote *remote, const char *key,
                                 struct s3_signed_request *ret_request);
/* To delete one version of a key for good; "": the key, of a store without versions. */
void storage_s3_request_delete(const struct s3_remote *remote, const char *key, const char *version,
                               struct s3_signed_request *ret_request);
/* Until when a version may not be deleted (GetObjectRetention). */
void storage_s3_request_lock(const struct s3_remote *remote, const char *key, const char *version,
                             struct s3_signed_request *ret_request);
/* An object written again, as long as it is the one with this ETag. */
struct s3_writing {
    const char *key;
    const char *etag;        /* NULL: whatever it is */
    const char *sha256;      /* of the new one, 64 hexadecimal digits */
    const char *const *also; /* what else it is sent with, as in s3_request; at most S3_ALSO_MAX */
};
void storage_s3_request_write(const struct s3_remote *remote, const struct s3_writing *writing,
                              struct s3_signed_request *ret_request);

#endif
