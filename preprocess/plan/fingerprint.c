/* The fingerprint of what a job is to deliver: see fingerprint.h. */
#include "preprocess/plan/fingerprint.h"

#include "core/base/memory.h"

enum {
    SHUFFLED_COST = 16 /* of a sample that is looked up by its position, against the next one */
};

static uint64_t of_index(const struct preprocess_plan *plan, uint32_t epoch, uint64_t index)
{
    return weir_fingerprint(plan->set.ids[index], epoch);
}

static uint64_t of_position(const struct preprocess_plan *plan, uint32_t epoch, uint64_t position)
{
    return of_index(plan, epoch, preprocess_plan_index(plan, epoch, position));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Positions of an incomplete last batch: they are missing, or come again. */
static uint64_t correction(const struct preprocess_plan *plan, uint32_t epoch)
{
    uint64_t samples = plan->geometry.samples, sum = 0;
    uint64_t positions = preprocess_epoch_positions(&plan->geometry);
    for (uint64_t p = positions; p < samples; p++)
        sum -= of_position(plan, epoch, p);
    for (uint64_t p = samples; p < positions; p++)
        sum += of_position(plan, epoch, p);
    return sum;
}

/* All samples of the epoch, in any order. */
static bool add_whole(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                      uint64_t *budget)
{
    const struct weir_epoch_parts *parts = &plan->parts;
    const uint32_t *part = parts->count > 0 ? parts->indices + sum->epoch * parts->samples : NULL;
    uint64_t end = sum->at + least(*budget, plan->geometry.samples - sum->at);
    *budget -= end - sum->at;
    if (part == NULL)
        sum->value += weir_fingerprints(plan->set.ids + sum->at, end - sum->at, sum->epoch);
    for (uint64_t i = sum->at; part != NULL && i < end; i++)
        sum->value += of_index(plan, sum->epoch, part[i]);
    sum->at = end;
    if (sum->at < plan->geometry.samples)
        return false;
    sum->value += correction(plan, sum->epoch);
    return true;
}

/* Adds the samples of a group that are not in the position; returns the number of samples in the group. */
static uint64_t add_group(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                          uint64_t group, const struct weir_position *position)
{
    const struct preprocess_geometry *geometry = &plan->geometry;
    struct preprocess_range batches = preprocess_group(geometry, group);
    uint64_t room = (uint64_t)batches.count * geometry->batch_samples, at = 0;
    WEIR_AUTO_FREE uint64_t *indices = weir_calloc(room, sizeof(*indices));
    preprocess_plan_group(plan, group, indices);
    for (uint64_t batch = batches.first; batch < batches.first + batches.count; batch++) {
        uint64_t end = at + preprocess_positions(geometry, batch).count;
        bool is_in = weir_position_consumed(position, batch);
        for (; at < end; at++)
            sum->value += is_in ? 0 : of_index(plan, sum->epoch, indices[at]);
    }
    return at;
}

/* Adds the samples of the epoch that are not in the position. */
static bool add_rest(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                     const struct weir_position *position, uint64_t *budget)
{
    uint64_t groups = plan->geometry.groups_per_epoch;
    while (*budget > 0 && sum->at < groups) {
        uint64_t group = sum->epoch * groups + sum->at++;
        *budget -= least(*budget, SHUFFLED_COST * add_group(sum, plan, group, position));
    }
    return sum->at == groups;
}

static bool add_epoch(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                      const struct weir_position *position, uint64_t *budget)
{
    uint64_t first = sum->epoch * plan->geometry.batches_per_epoch;
    if (position == NULL || position->oldest + position->ahead.count <= first)
        return add_whole(sum, plan, budget);
    if (position->oldest >= first + plan->geometry.batches_per_epoch)
        return true;
    return add_rest(sum, plan, position, budget);
}

bool preprocess_sum_step(struct preprocess_sum *sum, const struct preprocess_plan *plan,
                         const struct weir_position *position, uint64_t samples)
{
    while (sum->epoch < plan->geometry.epochs) {
        if (!add_epoch(sum, plan, position, &samples))
            return false;
        sum->epoch++;
        sum->at = 0;
    }
    return true;
}
