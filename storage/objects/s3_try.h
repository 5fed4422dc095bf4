/* A question that is asked until it is answered, five times at most with pauses between that double: what comes of
 * 5xx, 429, half an answer, silence. One at a time. */
#ifndef WEIR_STORAGE_S3_TRY_H
#define WEIR_STORAGE_S3_TRY_H

#include "storage/objects/s3_http.h"
#include "storage/objects/s3_remote.h"

enum {
    S3_TRIES = 5,     /* of one question, */
    S3_PAUSE_MS = 200 /* and the pause behind the first */
};

struct s3_try;

struct s3_try *s3_try_new(struct weir_loop *loop);
/* Drops what is under way. */
void s3_try_free(struct s3_try *question);
void s3_try_drop(struct s3_try *question);

/* With an answer, whatever its code; or with NULL, and why there is none. */
typedef void s3_tried_fn(void *owner, const struct s3_answer *answer, const char *why);

/* Takes over `*question`. `bytes_max`: of the answer. `done` is called once, never from inside. */
void s3_try_ask(struct s3_try *question, struct s3_question *asked, size_t bytes_max,
                s3_tried_fn *done, void *owner);
/* Inside `done`: the answer is none. The same is asked again, and `done` is called once more. */
void s3_try_again(struct s3_try *question, const char *why);

/* Bytes of an object. */
struct s3_range {
    uint64_t from, size;
};
/* True when a 206 holds these bytes of the object with this ETag, and fills `text` with what it is. */
bool s3_answer_is(const struct s3_answer *answer, const struct s3_range *asked, const char *etag,
                  char text[128]);

/* "found HTTP status 403 AccessDenied, expected 200", in 128 characters. */
void s3_try_describe(const struct s3_answer *answer, long expected, char text[128]);

#endif
