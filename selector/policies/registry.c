/* The selection policies there are. To add one: write selection_NAME.c and name it here, nothing
 * else. */
#include "selector/policies/policy.h"

// clang-format off
#define SELECTION_POLICIES(X) \
    X(new_data) X(freshness) \
    X(random) X(random_without_replacement) X(recency_weighted) X(reservoir) \
    X(label_balanced) X(trigger_balanced) X(mixture) X(coreset)
// clang-format on

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
