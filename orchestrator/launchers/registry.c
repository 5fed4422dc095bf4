/* The launchers there are. To add one: write launcher_NAME.c and name it here. Nothing else. */
#include "orchestrator/launchers/launcher.h"

#include "core/base/bytes.h"

#define LAUNCHERS(X) X(local)

#define X(name) extern const struct launcher launcher_##name;
LAUNCHERS(X)
#undef X

static const struct launcher *const ALL[] = {
#define X(name) &launcher_##name,
    LAUNCHERS(X)
#undef X
};

const struct launcher *launcher_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++)
        if (weir_str_equal(ALL[i]->name, name))
            return ALL[i];
    return NULL;
}
