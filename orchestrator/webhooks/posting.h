/* One event on its way to one receiver, over HTTP, from a thread that may wait. Redirections are not followed,
 * certificates are verified, what is answered beside the status is passed over. */
#ifndef ORCHESTRATOR_WEBHOOKS_POSTING_H
#define ORCHESTRATOR_WEBHOOKS_POSTING_H

#include "core/base/error.h"
#include "core/loop/work.h"

#include <stddef.h>
#include <stdint.h>

enum { WEBHOOK_SIGNATURE_TEXT = 65, WEBHOOK_HEADERS_MAX = 8 };

/* Texts are the caller's to free; they are the thread's while it runs. */
struct posting {
    const char *url;
    char *headers[WEBHOOK_HEADERS_MAX]; /* NULL-terminated */
    char *body;
    struct weir_error err; /* of what came of it */
    enum weir_status status;
};

/* Inside a thread. OK after a status of 2xx, else UNAVAILABLE. */
void orchestrator_webhook_post(struct weir_work *work, struct posting *posting);
void orchestrator_posting_fini(struct posting *posting);

/* HMAC-SHA256 (RFC 2104) over "TIMESTAMP.BODY", in hexadecimal digits. Pure. */
void orchestrator_webhook_sign(const void *secret, size_t secret_size, int64_t timestamp_s,
                               const char *body, char ret_signature[WEBHOOK_SIGNATURE_TEXT]);
/* Pause after so many failures in a row: anything up to a bound that doubles, from one second to ten minutes. */
int64_t orchestrator_webhook_pause_ms(unsigned failures, uint64_t draw);

#endif
