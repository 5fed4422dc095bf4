/* The statistics of drift there are. To add one: write statistic_NAME.c and name it here, nothing else. */
#include "orchestrator/drift/statistic.h"

// clang-format off
#define DRIFT_STATISTICS(X) \
    X(mmd) X(ks) X(cvm) X(wasserstein) X(hellinger) X(jensen_shannon) X(psi) X(chi_square) \
    X(kullback_leibler) X(lsdd) X(classifier)
// clang-format on

#define X(name) extern const struct drift_statistic statistic_##name;
DRIFT_STATISTICS(X)
#undef X

static const struct drift_statistic *const ALL[] = {
#define X(name) &statistic_##name,
    DRIFT_STATISTICS(X)
#undef X
};

const struct drift_statistic *orchestrator_drift_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++)
        if (weir_str_equal(ALL[i]->name, name))
            return ALL[i];
    return NULL;
}

size_t orchestrator_drift_count(void)
{
    return WEIR_COUNT(ALL);
}

const struct drift_statistic *orchestrator_drift_at(size_t index)
{
    return ALL[index];
}
