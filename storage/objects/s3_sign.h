/* Signature version 4 of S3 requests, as AWS publishes it ("Authenticating Requests: Using the Authorization
 * Header", Amazon S3 API Reference). Pure: the time is handed in. */
#ifndef WEIR_STORAGE_S3_SIGN_H
#define WEIR_STORAGE_S3_SIGN_H

#include "core/base/bytes.h"
#include "storage/identity/keys.h"

enum { S3_DATE_TEXT = 17, S3_SIGNATURE_TEXT = 65, S3_ALSO_MAX = 80 /* headers beside those */ };

/* The SHA-256 of no bytes, which every request without a body carries. */
#define S3_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3_request {
    const char *method;
    const char *host;     /* as in the Host header */
    const char *path;     /* percent-encoded, "/" at least */
    const char *query;    /* parameters encoded and in order of their names; "" for none */
    const char *range;    /* value of the Range header, or NULL */
    const char *if_match; /* value of the If-Match header, or NULL */
    const char *sha256;   /* of the body, 64 hexadecimal digits; NULL: there is none */
    const char *const
        *also; /* "name: value" of other headers, names in lower case; NULL, or NULL-terminated */
    const char *region;
    char date[S3_DATE_TEXT]; /* "20130524T000000Z" */
};

/* Value of the x-amz-content-sha256 header. */
const char *storage_s3_body_sha256(const struct s3_request *request);
void storage_s3_date(int64_t time_us, char date[S3_DATE_TEXT]);
/* Appends `text` with everything but letters, digits and -_.~ percent-encoded; slashes stay if asked. */
void storage_s3_encode(const char *text, bool keeps_slashes, struct weir_buf *out);
/* 64 hexadecimal digits and a zero. */
void storage_s3_signature(const struct s3_request *request,
                          const struct s3_credentials *credentials,
                          char signature[S3_SIGNATURE_TEXT]);
/* Appends the value of the Authorization header. */
void storage_s3_authorization(const struct s3_request *request,
                              const struct s3_credentials *credentials, struct weir_buf *out);

#endif
