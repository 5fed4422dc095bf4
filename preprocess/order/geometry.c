/* Cutting a sample set into batches and groups. */
#include "preprocess/order/geometry.h"

static uint64_t ceiling(uint64_t value, uint64_t unit)
{
    return value / unit + (value % unit != 0);
}

static uint32_t clamp_group(uint64_t batches, uint32_t batch_samples)
{
    uint64_t max = PREPROCESS_GROUP_SAMPLES_MAX / batch_samples;
    if (max > PREPROCESS_GROUP_BATCHES_MAX)
        max = PREPROCESS_GROUP_BATCHES_MAX;
    if (batches > max)
        batches = max;
    return batches > 0 ? (uint32_t)batches : 1;
}

struct preprocess_geometry preprocess_geometry_plan(uint64_t samples, uint32_t epochs,
                                                    uint32_t batch_samples,
                                                    enum preprocess_last last,
                                                    uint32_t group_batches)
{
    weir_require(batch_samples > 0);
    uint64_t batches =
        last == PREPROCESS_LAST_DROP ? samples / batch_samples : ceiling(samples, batch_samples);
    group_batches = clamp_group(group_batches > 0 ? group_batches : batches / 16, batch_samples);
    return (struct preprocess_geometry){
        .samples = samples,
        .epochs = epochs,
        .batch_samples = batch_samples,
        .last = last,
        .group_batches = group_batches,
        .ranks = 1,
        .batches_per_epoch = batches,
        .groups_per_epoch = ceiling(batches, group_batches),
    };
}

void preprocess_geometry_limit_groups(struct preprocess_geometry *geometry, uint32_t most)
{
    weir_require(most > 0);
    if (geometry->group_batches <= most)
        return;
    geometry->group_batches = most;
    geometry->groups_per_epoch = ceiling(geometry->batches_per_epoch, most);
}

uint64_t preprocess_batches(const struct preprocess_geometry *geometry)
{
    return geometry->batches_per_epoch * geometry->epochs;
}

uint64_t preprocess_groups(const struct preprocess_geometry *geometry)
{
    return geometry->groups_per_epoch * geometry->epochs;
}

struct preprocess_range preprocess_group(const struct preprocess_geometry *geometry, uint64_t group)
{
    uint64_t epoch = group / geometry->groups_per_epoch;
    uint64_t first = group % geometry->groups_per_epoch * geometry->group_batches;
    uint64_t left = geometry->batches_per_epoch - first;
    return (struct preprocess_range){
        .first = epoch * geometry->batches_per_epoch + first,
        .count = left < geometry->group_batches ? (uint32_t)left : geometry->group_batches,
    };
}

uint64_t preprocess_group_of(const struct preprocess_geometry *geometry, uint64_t batch)
{
    uint64_t epoch = batch / geometry->batches_per_epoch;
    return epoch * geometry->groups_per_epoch +
           batch % geometry->batches_per_epoch / geometry->group_batches;
}

uint32_t preprocess_epoch_of(const struct preprocess_geometry *geometry, uint64_t batch)
{
    return (uint32_t)(batch / geometry->batches_per_epoch);
}

struct preprocess_range preprocess_positions(const struct preprocess_geometry *geometry,
                                             uint64_t batch)
{
    uint64_t first = batch % geometry->batches_per_epoch * geometry->batch_samples;
    uint64_t left = geometry->samples - first;
    bool is_short = geometry->last == PREPROCESS_LAST_SHORT && left < geometry->batch_samples;
    return (struct preprocess_range){
        .first = first,
        .count = is_short ? (uint32_t)left : geometry->batch_samples,
    };
}

static uint32_t slice_begin(uint32_t positions, uint32_t rank, uint32_t ranks)
{
    return (uint32_t)((uint64_t)positions * rank / ranks);
}

struct preprocess_range preprocess_slice(const struct preprocess_geometry *geometry, uint64_t batch,
                                         uint32_t rank)
{
    struct preprocess_range whole = preprocess_positions(geometry, batch);
    uint32_t begin = slice_begin(whole.count, rank, geometry->ranks);
    uint32_t end = slice_begin(whole.count, rank + 1, geometry->ranks);
    return (struct preprocess_range){.first = whole.first + begin, .count = end - begin};
}

/* Returns the positions of `rank` in the first `batches` batches of an epoch: all are alike but the last. */
static uint64_t slices_below(const struct preprocess_geometry *geometry, uint32_t rank,
                             uint64_t batches)
{
    if (batches == 0)
        return 0;
    uint64_t alike = preprocess_slice(geometry, 0, rank).count;
    return alike * (batches - 1) + preprocess_slice(geometry, batches - 1, rank).count;
}

uint64_t preprocess_slices_in(const struct preprocess_geometry *geometry, uint32_t rank,
                              const struct weir_position *position)
{
    uint64_t per_epoch = geometry->batches_per_epoch;
    if (per_epoch == 0)
        return 0;
    uint64_t count = position->oldest / per_epoch * slices_below(geometry, rank, per_epoch) +
                     slices_below(geometry, rank, position->oldest % per_epoch);
    for (size_t i = 0; i < position->ahead.count; i++) {
        if (weir_bits_get(&position->ahead, i))
            count += preprocess_slice(geometry, position->oldest + i, rank).count;
    }
    return count;
}

uint64_t preprocess_epoch_positions(const struct preprocess_geometry *geometry)
{
    if (geometry->last == PREPROCESS_LAST_SHORT)
        return geometry->samples;
    return geometry->batches_per_epoch * geometry->batch_samples;
}
