/* Both windows of a feature in one ascending order, one step for each different number. */
#ifndef ORCHESTRATOR_DRIFT_MERGE_H
#define ORCHESTRATOR_DRIFT_MERGE_H

#include "orchestrator/drift/statistic.h"

/* Zeroed: before the first number. */
struct drift_merge {
    double at;
    size_t reference, current; /* numbers up to and including `at` */
};

/* False: that was the last one. */
static inline bool orchestrator_merge_next(struct drift_merge *merge,
                                           const struct drift_feature *feature)
{
    bool more = merge->reference < feature->reference_count;
    bool more_current = merge->current < feature->current_count;
    if (!more && !more_current)
        return false;
    merge->at = more ? feature->reference[merge->reference] : feature->current[merge->current];
    if (more_current && feature->current[merge->current] < merge->at)
        merge->at = feature->current[merge->current];
    while (merge->reference < feature->reference_count &&
           feature->reference[merge->reference] <= merge->at)
        merge->reference++;
    while (merge->current < feature->current_count && feature->current[merge->current] <= merge->at)
        merge->current++;
    return true;
}

#endif
