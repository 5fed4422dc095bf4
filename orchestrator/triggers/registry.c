/* The trigger policies; CONTRIBUTING.md says how one is added. */
#include "orchestrator/triggers/trigger.h"

#include <string.h>

#define TRIGGER_POLICIES(X) \
    X(amount) X(time) X(drift) X(performance) X(cost) X(ensemble) X(deletion)

#define X(name) extern const struct trigger_policy orchestrator_trigger_##name;
TRIGGER_POLICIES(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_trigger_##name.plugin,
    TRIGGER_POLICIES(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_TRIGGERS = {
    .what = "trigger policy",
    .key = "policy",
    .expected = "a mapping such as {policy: amount, samples: 1000}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
