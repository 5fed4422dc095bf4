/* The scoring methods; CONTRIBUTING.md says how one is added. */
#include "selector/scoring/scoring.h"

// clang-format off
#define SCORING_METHODS(X) \
    X(loss) X(grad_norm) X(uncertainty) X(rho_loss) X(rs2) X(k_center) X(exemplar_clustering) \
    X(craig) X(grad_match) X(submodular)
// clang-format on

#define X(name) extern const struct scoring_method selector_scoring_##name;
SCORING_METHODS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &selector_scoring_##name.plugin,
    SCORING_METHODS(X)
#undef X
};

const struct cfg_registry SELECTOR_SCORING_METHODS = {
    .what = "scoring method",
    .key = "method",
    .expected = "a mapping such as {method: loss}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
