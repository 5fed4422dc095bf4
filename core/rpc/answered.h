/* Requests of a server that were answered, or taken up to be answered later, a moment ago. While a
 * server is busy, copies of one request wait at its door: asked before the answer got there, each
 * would cost as much as the first, and the busier the server, the more there are. So a copy is judged
 * by when it may have come, not by when the server gets to it. Knows no socket; pure: time is handed
 * in. For core/rpc alone. */
#ifndef WEIR_RPC_ANSWERED_H
#define WEIR_RPC_ANSWERED_H

#include "core/rpc/rpc.h"

enum {
    WEIR_ANSWERED_MAX = 1024,
    WEIR_ANSWERED_SLOW_MS = 10 * 1000, /* longest wait for an answer that took long to make */
    WEIR_ANSWERED_FULL_MS = 60 * 1000, /* … at a door that is never seen empty */
};

/* Zero-initialised knows none. A newer one may take the place of an older one, which is then not known. */
struct weir_answered {
    struct weir_answered_request {
        uint64_t key; /* 0: none */
        int64_t begun_ms;
        int64_t until_ms; /* copies that may have come before are passed over */
    } at[WEIR_ANSWERED_MAX];
};

/* Notes that work on a request begins. Copies that waited at the door with it come at once: a copy that was sent later
 * is let through. */
void weir_answered_begin(struct weir_answered *answered, const struct weir_route *route,
                         int64_t now_ms);
/* Notes that it is answered. Whoever lost the answer asks again after WEIR_RPC_RESEND_MS. An answer that took long to
 * make may take as long to get there, as both sides are busy, or it is large. */
void weir_answered_note(struct weir_answered *answered, const struct weir_route *route,
                        int64_t now_ms);
/* Forgets a request that was refused for now: it may come again at once. */
void weir_answered_forget(struct weir_answered *answered, const struct weir_route *route);
/* True for a copy that is passed over: one that may have come at any time after `since_ms`. */
bool weir_answered_lately(const struct weir_answered *answered, const struct weir_route *route,
                          int64_t since_ms, int64_t now_ms);

#endif
