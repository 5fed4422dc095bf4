/* The answer of an object store to one request. */
#ifndef WEIR_STORAGE_S3_ANSWER_H
#define WEIR_STORAGE_S3_ANSWER_H

#include "core/base/bytes.h"
#include "core/http/part.h"

enum { S3_KEPT_MAX = 64, S3_KEPT_BYTES_MAX = 16 << 10 };

struct s3_answer {
    long code;         /* of HTTP */
    const char *etag;  /* its header, with quotes; "" when there is none */
    const char *range; /* Content-Range; "" */
    const char *date;  /* of the store's clock; "" */
    /* "name: value" of what an object was sent with, names in lower case, NULL-terminated */
    const char *const *kept;
    bool is_cut; /* there were more of these than S3_KEPT_MAX, or than S3_KEPT_BYTES_MAX */
    struct weir_bytes body; /* all valid during the callback */
};

/* Use of another try after an answer (Amazon S3 API Reference, "List of error codes"). */
enum s3_verdict {
    S3_FINAL,
    S3_PASSING,   /* 429, 5xx but for 501, RequestTimeout: the same again */
    S3_KEYS_OVER, /* ExpiredToken: with other keys */
    S3_CLOCK_OFF, /* RequestTimeTooSkewed: by the clock of the store */
};
enum s3_verdict storage_s3_answer_judge(const struct s3_answer *answer);
/* True for an answer that another try may better. */
bool storage_s3_answer_is_passing(const struct s3_answer *answer);

/* True when a 206 holds these bytes of the object; else fills `text` with what it is. */
bool storage_s3_answer_is(const struct s3_answer *answer, const struct weir_part *asked,
                          char text[WEIR_PART_TEXT]);

/* "found HTTP status 403 AccessDenied, expected 200", in 128 characters. */
void storage_s3_answer_describe(const struct s3_answer *answer, long expected, char text[128]);

#endif
