/* The sum of the fingerprints of all samples of a job (core/wire/position.h), worked out a piece at a
 * time: there may be billions of them, and the caller has heartbeats to answer meanwhile. Pure. */
#ifndef WEIR_PREPROCESS_PLAN_FINGERPRINT_H
#define WEIR_PREPROCESS_PLAN_FINGERPRINT_H

#include "preprocess/plan/plan.h"

/* Zeroed: nothing is added yet. */
struct preprocess_sum {
    uint64_t value;
    uint32_t epoch; /* epochs before it are in */
    uint64_t at;    /* of the next one, samples or groups that are in */
};

/* Adds the samples that all ranks get after `position` (NULL: all samples), a piece at a time: as many as take about
 * as long as `samples` > 0 samples in the order of the set; true when all of it is in. Only the groups of epochs that
 * the position divides are put in their shuffled order, which takes many times as long. */
bool preprocess_sum_step(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                         const struct weir_position *position, uint64_t samples);

#endif
