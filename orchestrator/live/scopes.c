/* One scope for all viewers of a tenant. */
#include "orchestrator/live/scopes.h"

#include "core/base/memory.h"
#include "core/base/require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_scope *orchestrator_live_scope_join(struct live_scopes *scopes, const char *tenant)
{
    struct live_scope *scope;
    LIST_FOREACH (scope, scopes, link)
        if (strcmp(scope->tenant, tenant) == 0)
            break;
    if (scope == NULL) {
        scope = weir_calloc(1, sizeof(*scope));
        (void)snprintf(scope->tenant, sizeof(scope->tenant), "%s", tenant);
        LIST_INSERT_HEAD(scopes, scope, link);
    }
    scope->viewers++;
    return scope;
}

void orchestrator_live_scope_leave(struct live_scope *scope)
{
    weir_require(scope->viewers > 0);
    scope->viewers--;
}

void orchestrator_live_scope_drop(struct live_scope *scope)
{
    weir_require(scope->viewers == 0);
    LIST_REMOVE(scope, link);
    orchestrator_live_log_fini(&scope->log);
    free(scope);
}

bool orchestrator_live_scope_has(const struct live_scope *scope, int64_t pipeline)
{
    for (size_t i = 0; i < scope->pipeline_count; i++)
        if (scope->pipelines[i] == pipeline)
            return true;
    return false;
}
