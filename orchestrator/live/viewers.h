/* Browsers that look at the live page: each is a stream of the newest parts of its scope and of the lines of its log,
 * which it takes as fast as it can. A slow one costs the text that it is being sent, and skips what has changed again
 * meanwhile, and lines that are kept no longer. */
#ifndef ORCHESTRATOR_LIVE_VIEWERS_H
#define ORCHESTRATOR_LIVE_VIEWERS_H

#include "orchestrator/http/http.h"
#include "orchestrator/keys/tokens.h"
#include "orchestrator/live/parts.h"

enum { LIVE_VIEWERS_MAX = 32 };

struct live_viewers {
    struct weir_loop *loop;
    const struct live_parts *parts;
    struct live_scopes *scopes;
    LIST_HEAD(, live_viewer) all;
    size_t count;
    uint64_t beat_timer; /* 0: nobody looks */
};

/* A new viewer. */
struct live_looker {
    int64_t token;      /* number of the one it came with; 0: it needed none */
    const char *tenant; /* the only one whose pipelines it sees; "": all */
    int64_t line;       /* number of the newest line of events that it has; 0: none */
};

/* Answers the request with a stream; there must be room. */
void orchestrator_live_viewers_add(struct live_viewers *viewers, struct http_request *request,
                                   const struct live_looker *looker);
/* Ends the streams whose token is not let in. */
void orchestrator_live_viewers_check(const struct live_viewers *viewers,
                                     const struct tokens *tokens);
/* A part has changed, or there are new lines. */
void orchestrator_live_viewers_wake(struct live_viewers *viewers);
/* After their connections have been closed. */
void orchestrator_live_viewers_fini(struct live_viewers *viewers);

#endif
