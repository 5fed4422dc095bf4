/* The open calls of one peer, in the order of their request numbers. Knows no socket. For core/rpc
 * alone. */
#ifndef WEIR_RPC_CALLS_H
#define WEIR_RPC_CALLS_H

#include "core/rpc/rpc.h"

struct weir_call {
    uint64_t request;
    enum weir_message type;
    struct weir_buf header; /* packed once, sent as often as needed */
    int64_t begun_ms;
    int64_t deadline_ms;       /* on the loop's clock */
    int64_t send_ms;           /* next time it is sent */
    int64_t resend_ms;         /* how long after that, again */
    int64_t refused_ms;        /* … and how long after it is refused as UNAVAILABLE */
    struct weir_frames frames; /* sent beside it */
    uint64_t outage;           /* of the peer, in which a copy waits for the server; 0: none */
    bool over_limit;           /* never sent: it only waits to be refused */
    char *refusal;             /* newest UNAVAILABLE text, owned; NULL: none */
    struct weir_arena *arena;  /* where the reply is decoded; NULL: the peer's own */
    weir_rpc_done_fn *done;
    void *owner;
};

/* Zero-initialised is empty. */
struct weir_calls {
    struct weir_call **at;
    size_t count;
    size_t capacity;
};

void weir_calls_fini(struct weir_calls *calls);
/* Adds a zeroed call with the number `request`, which is higher than all before. */
struct weir_call *weir_calls_add(struct weir_calls *calls, uint64_t request);
struct weir_call *weir_calls_find(const struct weir_calls *calls, uint64_t request);
/* Takes the call out of the list; free it with weir_call_free(). */
struct weir_call *weir_calls_take(struct weir_calls *calls, uint64_t request);
void weir_calls_forget(struct weir_calls *calls, const void *owner);
/* The first call whose deadline has passed, or that must be refused; NULL: none. */
struct weir_call *weir_calls_expired(const struct weir_calls *calls, int64_t now_ms);
/* Time of the next thing to do; INT64_MAX: never. */
int64_t weir_calls_next_ms(const struct weir_calls *calls);
void weir_call_free(struct weir_call *call);

#endif
