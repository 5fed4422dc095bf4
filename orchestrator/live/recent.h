/* The newest events of a scope as lines of its log, from Postgres, in the order in which they happened. */
#ifndef ORCHESTRATOR_LIVE_RECENT_H
#define ORCHESTRATOR_LIVE_RECENT_H

#include "orchestrator/live/scopes.h"
#include "orchestrator/pipeline/pipeline.h"

/* Adds what has happened since it was called last, LIVE_LINES_MAX of that at most. True: there are new lines. */
bool orchestrator_live_recent_read(const struct pipelines *pipelines, struct live_scope *scope);

#endif
