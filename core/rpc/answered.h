/* Requests of a server that were answered, or taken up to be answered later, a moment ago. While a
 * server is busy, copies of one request wait at its door: asked before the answer got there, each
 * would cost as much as the first, and the busier the server, the more there are. Knows no socket;
 * pure: time is handed in. For core/rpc alone. */
#ifndef WEIR_RPC_ANSWERED_H
#define WEIR_RPC_ANSWERED_H

#include "core/rpc/rpc.h"

enum { WEIR_ANSWERED_MAX = 1024 };

/* Zero-initialised knows none. A newer one may take the place of an older one, which is then not known. */
struct weir_answered {
    struct weir_answered_request {
        uint64_t key; /* 0: none */
        int64_t at_ms;
    } at[WEIR_ANSWERED_MAX];
};

void weir_answered_note(struct weir_answered *answered, const struct weir_route *route,
                        int64_t now_ms);
/* Notes that work on a request has begun. Copies that waited at the door with it come at once: a copy that was sent
 * later is let through. */
void weir_answered_begin(struct weir_answered *answered, const struct weir_route *route,
                         int64_t now_ms);
/* Forgets a request that was refused: it may come again at once. */
void weir_answered_forget(struct weir_answered *answered, const struct weir_route *route);
/* True when it was, less than WEIR_RPC_RESEND_MS ago: whoever lost that answer asks again after that. */
bool weir_answered_lately(const struct weir_answered *answered, const struct weir_route *route,
                          int64_t now_ms);

#endif
