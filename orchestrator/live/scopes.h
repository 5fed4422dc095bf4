/* Scopes of those who look: the whole platform, or what is a tenant's. A scope lasts as long as somebody looks at it.
 * Pure. */
#ifndef ORCHESTRATOR_LIVE_SCOPES_H
#define ORCHESTRATOR_LIVE_SCOPES_H

#include "core/rpc/keyring.h"
#include "orchestrator/live/log.h"

#include <sys/queue.h>

enum {
    LIVE_PIPELINES_MAX = 20, /* with pictures: the newest; others have a row of the table */
};

struct live_scope {
    LIST_ENTRY(live_scope) link;
    char tenant[WEIR_KEYRING_WORD_MAX + 1]; /* "": the whole platform */
    size_t viewers;                         /* looking at it */
    int64_t pipelines[LIVE_PIPELINES_MAX];  /* with pictures: all of them may be seen in it */
    size_t pipeline_count;
    struct live_log log;
};

LIST_HEAD(live_scopes, live_scope);

/* One viewer more of that tenant's scope, which is made if there is none. */
struct live_scope *orchestrator_live_scope_join(struct live_scopes *scopes, const char *tenant);
/* One viewer less; it stays until it is dropped. */
void orchestrator_live_scope_leave(struct live_scope *scope);
/* Frees a scope that nobody looks at. */
void orchestrator_live_scope_drop(struct live_scope *scope);
/* True for one of its pipelines with pictures. */
bool orchestrator_live_scope_has(const struct live_scope *scope, int64_t pipeline);

#endif
