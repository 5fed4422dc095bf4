/* The statistics of drift; CONTRIBUTING.md says how one is added. */
#include "orchestrator/drift/statistic.h"

// clang-format off
#define DRIFT_STATISTICS(X) \
    X(mmd) X(ks) X(cvm) X(wasserstein) X(hellinger) X(jensen_shannon) X(psi) X(chi_square) \
    X(kullback_leibler) X(lsdd) X(classifier)
// clang-format on

#define X(name) extern const struct drift_statistic orchestrator_statistic_##name;
DRIFT_STATISTICS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_statistic_##name.plugin,
    DRIFT_STATISTICS(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_DRIFT_STATISTICS = {
    .what = "statistic",
    .key = "name",
    .expected = "a statistic such as {name: mmd}",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
