/* Browsers that look at the live page: each is a stream of the newest parts, which it takes as fast as it can. A slow
 * one costs the text that it is being sent, and skips what has changed again meanwhile. */
#ifndef ORCHESTRATOR_LIVE_VIEWERS_H
#define ORCHESTRATOR_LIVE_VIEWERS_H

#include "orchestrator/http/http.h"
#include "orchestrator/keys/tokens.h"
#include "orchestrator/live/parts.h"

enum { LIVE_VIEWERS_MAX = 32 };

struct live_viewers {
    struct weir_loop *loop;
    const struct live_parts *parts;
    LIST_HEAD(, live_viewer) all;
    size_t count;
    uint64_t beat_timer; /* 0: nobody looks */
};

/* Answers the request with a stream; there must be room. `token`: number of the one it came with; 0: it needed none. */
void orchestrator_live_viewers_add(struct live_viewers *viewers, struct http_request *request,
                                   int64_t token);
/* Ends the streams whose token is not let in. */
void orchestrator_live_viewers_check(const struct live_viewers *viewers,
                                     const struct tokens *tokens);
/* A part has changed. */
void orchestrator_live_viewers_wake(struct live_viewers *viewers);
/* After their connections have been closed. */
void orchestrator_live_viewers_fini(struct live_viewers *viewers);

#endif
