/* The launchers there are. To add one: write launcher_NAME.c and name it here. Nothing else. */
#include "orchestrator/launchers/launcher.h"

#include "core/base/bytes.h"

#define LAUNCHERS(X) X(local) X(slurm)

#define X(name) extern const struct launcher orchestrator_launcher_##name;
LAUNCHERS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_launcher_##name.plugin,
    LAUNCHERS(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_LAUNCHERS = {
    .what = "launcher",
    .key = "launcher",
    .expected = "the name of a launcher",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
