/* Requests of one asker to object stores, one at a time, each try signed again. A request that gets no answer, half an
 * answer or one that may pass (storage_s3_answer_judge()) is sent again, after pauses at random below a bound that
 * doubles. Answers are bounded, redirections are not followed, a connection that stands still is given up. */
#ifndef WEIR_STORAGE_S3_CALL_H
#define WEIR_STORAGE_S3_CALL_H

#include "core/base/error.h"
#include "storage/objects/s3_answer.h"
#include "storage/objects/s3_remote.h"
#include "storage/objects/s3_transport.h"

enum {
    S3_TRIES = 5,       /* of a request that reads */
    S3_ERASE_TRIES = 2, /* of one that erases: its row is tried again after pauses of its own */
    S3_PAUSE_MS = 200   /* half the most after the first */
};

struct s3_call;

struct s3_call *storage_s3_call_new(struct s3_transport *transport);
/* Both cancel the request that is under way. NULL is fine for free. */
void storage_s3_call_free(struct s3_call *call);
void storage_s3_call_drop(struct s3_call *call);

/* Body of a request: the first `size` bytes of an open file, which stays the caller's. */
struct s3_upload {
    int fd;
    uint64_t size;
};

struct s3_sending {
    const char *method;
    struct s3_signed_request request; /* taken over */
    size_t bytes_max;                 /* of the answer's body; more is an error */
    int tries;                        /* S3_TRIES, S3_ERASE_TRIES */
    const struct s3_upload *upload;   /* copied; NULL: nothing is sent */
};

/* With an answer, whatever its code; or with NULL and UNAVAILABLE (no or half an answer) or LIMIT (more than
 * bytes_max). */
typedef void s3_done_fn(void *owner, const struct s3_answer *answer, const struct weir_error *err);

/* Nothing else is under way. `done` is called once, never from inside. */
void storage_s3_call_send(struct s3_call *call, const struct s3_sending *sending, s3_done_fn *done,
                          void *owner);
/* Inside `done`: the answer is none. The same is sent again, and `done` is called once more; at once, with NULL and
 * `why`, after the last try. */
void storage_s3_call_again(struct s3_call *call, const char *why);

#endif
