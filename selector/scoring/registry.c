/* The scoring methods there are. To add one: write scoring_NAME.c and name it here, nothing else. */
#include "selector/scoring/scoring.h"

// clang-format off
#define SCORING_METHODS(X) \
    X(loss) X(grad_norm) X(uncertainty) X(rho_loss) X(rs2) X(k_center) X(exemplar_clustering) \
    X(craig) X(grad_match) X(submodular)
// clang-format on

#define X(name) extern const struct scoring_method scoring_##name;
SCORING_METHODS(X)
#undef X

static const struct scoring_method *const METHODS[] = {
#define X(name) &scoring_##name,
    SCORING_METHODS(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    SCORING_METHODS(X)
#undef X
        NULL,
};

const struct scoring_method *scoring_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(METHODS); i++)
        if (weir_str_equal(METHODS[i]->name, name))
            return METHODS[i];
    return NULL;
}

size_t scoring_count(void)
{
    return WEIR_COUNT(METHODS);
}

const struct scoring_method *scoring_at(size_t index)
{
    return METHODS[index];
}

const char *const *scoring_names(void)
{
    return NAMES;
}
