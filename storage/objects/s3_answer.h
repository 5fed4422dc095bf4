/* The answer of an object store to one request. */
#ifndef WEIR_STORAGE_S3_ANSWER_H
#define WEIR_STORAGE_S3_ANSWER_H

#include "core/base/bytes.h"

enum { S3_KEPT_MAX = 64, S3_KEPT_BYTES_MAX = 16 << 10 };

struct s3_answer {
    long code;         /* of HTTP */
    const char *etag;  /* its header, with quotes; "" when there is none */
    const char *range; /* Content-Range; "" */
    const char *const *
        kept; /* "name: value" of what an object was sent with, names in lower case, NULL-terminated */
    bool is_cut; /* there were more of these than S3_KEPT_MAX, or than S3_KEPT_BYTES_MAX */
    struct weir_bytes body; /* all valid during the callback */
};

/* True for an answer that another try may better: 429 and 5xx, but for 501. */
bool storage_s3_answer_is_passing(const struct s3_answer *answer);

/* Bytes of an object. */
struct s3_range {
    uint64_t from, size;
};
/* True when a 206 holds these bytes of the object with this ETag, and fills `text` with what it is. */
bool storage_s3_answer_is(const struct s3_answer *answer, const struct s3_range *asked,
                          const char *etag, char text[128]);

/* "found HTTP status 403 AccessDenied, expected 200", in 128 characters. */
void storage_s3_answer_describe(const struct s3_answer *answer, long expected, char text[128]);

#endif
