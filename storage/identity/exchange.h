/* One question over HTTP, asked from a thread that may wait: again after pauses where another try may help. Answers
 * are bounded, redirections are not followed. */
#ifndef WEIR_STORAGE_IDENTITY_EXCHANGE_H
#define WEIR_STORAGE_IDENTITY_EXCHANGE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/loop/work.h"

enum { IDENTITY_ANSWER_BYTES_MAX = 64 << 10 };

struct exchange {
    const char *who; /* for errors */
    const char *method, *url;
    const char *header; /* "Name: value"; NULL */
    const char *form;   /* body; NULL */
    const char *ca;     /* file of authorities; NULL: those of the system */
    bool is_direct;     /* beside any proxy */
};

/* UNAVAILABLE without an answer, DENIED with one of 4xx. The text quotes nothing of either. */
enum weir_status storage_identity_ask(const struct exchange *exchange, struct weir_work *work,
                                      struct weir_buf *answer,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
