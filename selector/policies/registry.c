/* The selection policies there are. To add one: write selection_NAME.c and name it here, nothing
 * else. */
#include "selector/policies/policy.h"

// clang-format off
#define SELECTION_POLICIES(X) \
    X(new_data) X(freshness) \
    X(random) X(random_without_replacement) X(recency_weighted) X(reservoir) \
    X(label_balanced) X(trigger_balanced) X(mixture) X(coreset)
// clang-format on

#define X(name) extern const struct selection_policy selection_##name;
SELECTION_POLICIES(X)
#undef X

static const struct selection_policy *const POLICIES[] = {
#define X(name) &selection_##name,
    SELECTION_POLICIES(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    SELECTION_POLICIES(X)
#undef X
        NULL,
};

const struct selection_policy *selector_policy_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(POLICIES); i++)
        if (weir_str_equal(POLICIES[i]->name, name))
            return POLICIES[i];
    return NULL;
}

size_t selector_policy_count(void)
{
    return WEIR_COUNT(POLICIES);
}

const struct selection_policy *selector_policy_at(size_t index)
{
    return POLICIES[index];
}

const char *const *selector_policy_names(void)
{
    return NAMES;
}
