/* The selection policies by name: core/wire/selection_policies.h lists them. */
#include "core/wire/selection_policies.h"
#include "selector/policies/policy.h"

#define X(name) extern const struct selection_policy selector_selection_##name;
SELECTION_POLICIES(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &selector_selection_##name.plugin,
    SELECTION_POLICIES(X)
#undef X
};

const struct cfg_registry SELECTOR_POLICIES = {
    .what = "selection policy",
    .key = "policy",
    .expected = "a mapping such as {policy: random, limit: 1000}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
