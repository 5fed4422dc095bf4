/* HTTP requests of one object store, over libcurl in the service's loop: one at a time, nothing waits. Answers
 * are bounded, redirections are not followed, a connection that stands still is given up. */
#ifndef WEIR_STORAGE_S3_HTTP_H
#define WEIR_STORAGE_S3_HTTP_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/loop/loop.h"

struct s3_http;

struct s3_http *s3_http_new(struct weir_loop *loop);
/* Drops the request that is under way. */
void s3_http_free(struct s3_http *http);
void s3_http_drop(struct s3_http *http);

/* Body of a request: the first `size` bytes of an open file, which stays the caller's. */
struct s3_upload {
    int fd;
    uint64_t size;
};

struct s3_call {
    const char *method;
    const char *url;
    const char *const *headers;     /* "Name: value", NULL-terminated */
    size_t bytes_max;               /* of the answer's body; more is an error */
    const struct s3_upload *upload; /* copied; NULL: nothing is sent */
};

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
/* With an answer, whatever its code; or with NULL and UNAVAILABLE (no or half an answer) or LIMIT (more than
 * bytes_max). */
typedef void s3_done_fn(void *owner, const struct s3_answer *answer, const struct weir_error *err);

/* Begins; nothing else is under way. `done` is called once, never from inside. */
void s3_http_ask(struct s3_http *http, const struct s3_call *call, s3_done_fn *done, void *owner);

#endif
