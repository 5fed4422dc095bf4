/* The scaling policies there are. To add one: write policy_NAME.c and name it here. Nothing else. */
#include "preprocess/scale/policy.h"

#include "core/base/bytes.h"

#define POLICIES(X) X(rates) X(cachew) X(pecan) X(tfdata)

#define X(name) extern const struct scale_policy preprocess_policy_##name;
POLICIES(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &preprocess_policy_##name.plugin,
    POLICIES(X)
#undef X
};

const struct cfg_registry PREPROCESS_SCALE_POLICIES = {
    .what = "scaling policy",
    .key = "policy",
    .expected = "the name of a scaling policy",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
