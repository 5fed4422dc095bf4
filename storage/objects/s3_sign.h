/* Signature version 4 of S3 requests, as AWS publishes it, in a header ("Authenticating Requests: Using the
 * Authorization Header", Amazon S3 API Reference) or in the query ("Using Query Parameters"): then whoever has the
 * URL may send the request, as it was signed and until its second. Pure: the time is handed in. */
#ifndef WEIR_STORAGE_S3_SIGN_H
#define WEIR_STORAGE_S3_SIGN_H

#include "core/base/bytes.h"
#include "storage/identity/keys.h"

enum {
    S3_DATE_TEXT = 17,
    S3_SIGNATURE_BYTES = 32,
    S3_SIGNATURE_TEXT = 2 * S3_SIGNATURE_BYTES + 1,
    S3_ALSO_MAX = 80 /* headers beside those */
};

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
    /* "name: value" of other headers, names in lower case; NULL, or NULL-terminated */
    const char *const *also;
    const char *region;
    char date[S3_DATE_TEXT]; /* "20130524T000000Z" */
    bool in_query; /* `query` ends in what storage_s3_query() appends, and the body is not signed */
};

/* A key that is derived from a secret for one day, region and service. A secret itself. */
struct s3_signing_key {
    uint8_t at[32];
};

/* Value of the x-amz-content-sha256 header. */
const char *storage_s3_body_sha256(const struct s3_request *request);
void storage_s3_date(int64_t time_us, char date[S3_DATE_TEXT]);
/* Appends `text` with everything but letters, digits and -_.~ percent-encoded; slashes stay if asked. */
void storage_s3_encode(const char *text, bool keeps_slashes, struct weir_buf *out);
void storage_s3_signing_key(const struct s3_request *request,
                            const struct s3_credentials *credentials,
                            struct s3_signing_key *ret_key);
/* Signs a request with the key of its day and region. */
void storage_s3_signature(const struct s3_request *request,
                          const struct s3_credentials *credentials,
                          const struct s3_signing_key *key, uint8_t signature[S3_SIGNATURE_BYTES]);
/* Appends the value of the Authorization header. */
void storage_s3_authorization(const struct s3_request *request,
                              const struct s3_credentials *credentials, struct weir_buf *out);
/* Appends the parameters of a request that is signed in its query, but for `X-Amz-Signature`, the last. They depend on
 * date, region and the headers that are signed, so that requests alike share them. */
void storage_s3_query(const struct s3_request *request, const struct s3_credentials *credentials,
                      unsigned expires_s, struct weir_buf *out);

#endif
