/* The asker of a bucket: keys that the system file declares, or the way to those that are found (storage/identity). A
 * request keeps what is signed, so that each try of it is signed with the keys and the time of that moment. */
#ifndef WEIR_STORAGE_S3_SIGNER_H
#define WEIR_STORAGE_S3_SIGNER_H

#include "core/base/error.h"
#include "core/base/memory.h"
#include "storage/catalog/declaration.h"
#include "storage/objects/s3_authority.h"
#include "storage/objects/s3_clock.h"
#include "storage/objects/s3_sign.h"

/* Shared by a remote and its requests. */
struct s3_signer {
    unsigned refs;
    bool is_found;                 /* keys are found, not declared */
    char *profile;                 /* then: that of a profile; NULL: the chain */
    struct s3_credentials keys;    /* else: these */
    char *ca;                      /* file of authorities; NULL: those of the system */
    struct s3_authority authority; /* what is in it */
    bool may_grant;                /* requests may be signed for others to send */
    struct s3_clock clock;         /* of the store */
    int64_t ahead_us;              /* of it, once it has complained */
};

/* Reads the credentials that the data set names, as the system file says. INVALID, NOT_FOUND with what is missing,
 * DENIED when they may not be sent there. */
enum weir_status storage_s3_signer_new(const struct s3_source *source,
                                       struct s3_signer **ret_signer,
                                       struct weir_error *err) WEIR_MUST_USE;
void storage_s3_signer_unref(struct s3_signer *signer); /* NULL is fine */

enum { S3_HEADERS_MAX = 9 + S3_ALSO_MAX };

/* A request ready to be sent. Zeroed is none. */
struct s3_signed_request {
    char *url;
    struct s3_signer *signer; /* NULL: it is sent with the headers that it has */
    struct weir_arena *arena; /* of `request` */
    struct s3_request request;
    char *key_id;                  /* it was signed with */
    char *headers[S3_HEADERS_MAX]; /* NULL-terminated */
    size_t header_count;
};
void storage_s3_signed_request_fini(struct s3_signed_request *request);
/* Takes a copy of `request`, to be signed later. */
void storage_s3_signer_put(struct s3_signer *signer, const char *base,
                           const struct s3_request *request, struct s3_signed_request *ret_request);
/* Signs it, as of now; again, if it was. */
void storage_s3_request_sign(struct s3_signed_request *request, const struct s3_credentials *keys,
                             int64_t now_us);

#endif
