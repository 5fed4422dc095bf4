/* Messages that came while the handler of another one waited, and wait for their turn. Peers ask again until they are
 * answered, so of a request one copy is kept, and what is beyond the bounds is dropped. For core/rpc alone. */
#ifndef WEIR_RPC_KEPT_H
#define WEIR_RPC_KEPT_H

#include "core/rpc/listener.h"
#include "core/rpc/parts.h"

#include <sys/queue.h>

enum {
    WEIR_KEPT_MAX = 1024,
    WEIR_KEPT_BYTES_MAX = WEIR_RPC_REQUEST_MAX, /* of all together */
};

struct weir_kept_message {
    STAILQ_ENTRY(weir_kept_message) link;
    struct weir_listener *listener; /* it came to */
    struct weir_parts parts;
};

struct weir_kept {
    STAILQ_HEAD(, weir_kept_message) messages;
    size_t count, bytes;
};

void weir_kept_init(struct weir_kept *kept);
void weir_kept_fini(struct weir_kept *kept);

struct weir_kept_message *weir_kept_message_new(void);
void weir_kept_message_free(struct weir_kept_message *message);
WEIR_DEFINE_AUTO(weir_kept_message, weir_kept_message_free)

/* Takes the message, on success alone. False for a copy, or beyond the bounds. */
bool weir_kept_add(struct weir_kept *kept, struct weir_kept_message *message) WEIR_MUST_USE;
/* Returns the oldest message, the caller's from now on; NULL: there is none. */
struct weir_kept_message *weir_kept_take(struct weir_kept *kept) WEIR_MUST_USE;

#endif
