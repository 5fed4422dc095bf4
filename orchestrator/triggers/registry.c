/* The trigger policies there are. To add one: write trigger_NAME.c and name it here, nothing else. */
#include "orchestrator/triggers/trigger.h"

#include <string.h>

#define TRIGGER_POLICIES(X) \
    X(amount) X(time) X(drift) X(performance) X(cost) X(ensemble) X(deletion)

#define X(name) extern const struct trigger_policy trigger_##name;
TRIGGER_POLICIES(X)
#undef X

static const struct trigger_policy *const POLICIES[] = {
#define X(name) &trigger_##name,
    TRIGGER_POLICIES(X)
#undef X
};

const struct trigger_policy *orchestrator_trigger_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(POLICIES); i++)
        if (weir_str_equal(POLICIES[i]->name, name))
            return POLICIES[i];
    return NULL;
}

size_t orchestrator_trigger_count(void)
{
    return WEIR_COUNT(POLICIES);
}

const struct trigger_policy *orchestrator_trigger_at(size_t index)
{
    return POLICIES[index];
}
