/* Cutting a sample set into batches, slices and groups (C8). Pure arithmetic that dispatcher and
 * workers share: a batch number means the same samples to everybody, always.
 *
 * Batches are numbered over all epochs; positions count from 0 in each epoch; a group is a run of
 * batches inside one epoch. With `last: repeat` the positions of the last batch wrap around to the
 * beginning of the epoch.
 *
 * A batch of n positions is cut evenly over R ranks: slice r holds its positions [n r / R, n (r + 1)
 * / R), rounded down. So the slices of a batch end to end are the batch, their lengths differ by one
 * at most, and every rank has a slice of every batch: a short last batch may leave some empty. Cut
 * by position, not by sample: a hole shortens the slice it lies in and moves nothing. */
#ifndef WEIR_PREPROCESS_ORDER_GEOMETRY_H
#define WEIR_PREPROCESS_ORDER_GEOMETRY_H

#include "core/wire/position.h"

#include <stdint.h>

enum preprocess_last {
    PREPROCESS_LAST_SHORT,  /* the last batch of an epoch holds the rest */
    PREPROCESS_LAST_DROP,   /* an incomplete last batch is left out */
    PREPROCESS_LAST_REPEAT, /* it is filled up from the beginning of the epoch */
};

enum {
    PREPROCESS_GROUP_BATCHES_MAX = 64,
    PREPROCESS_BATCH_SAMPLES_MAX = 1 << 20,
    PREPROCESS_GROUP_SAMPLES_MAX = 1 << 16, /* unless one batch has more */
    PREPROCESS_GROUP_BYTES = 8 << 20, /* of a chosen group, where the size of a row is known */
};

struct preprocess_geometry {
    uint64_t samples; /* of an epoch: of the set, or of each of its epoch parts */
    uint32_t epochs;
    uint32_t batch_samples;
    enum preprocess_last last;
    uint32_t group_batches; /* 1 … PREPROCESS_GROUP_BATCHES_MAX */
    uint32_t ranks;         /* consumers that share each batch; planned as 1 */
    uint64_t batches_per_epoch;
    uint64_t groups_per_epoch;
};

struct preprocess_range {
    uint64_t first;
    uint32_t count;
};

/* `group_batches` 0 chooses: a sixteenth of an epoch, at least 1. It is lowered to hold at most
 * PREPROCESS_GROUP_SAMPLES_MAX samples. batch_samples > 0 (required). */
struct preprocess_geometry preprocess_geometry_plan(uint64_t samples, uint32_t epochs,
                                                    uint32_t batch_samples,
                                                    enum preprocess_last last,
                                                    uint32_t group_batches);
/* Limits groups to `most` batches. most > 0 (required). */
void preprocess_geometry_limit_groups(struct preprocess_geometry *geometry, uint32_t most);
uint64_t preprocess_batches(const struct preprocess_geometry *geometry); /* of all epochs */
uint64_t preprocess_groups(const struct preprocess_geometry *geometry);  /* of all epochs */
/* The batches of a group, and the group of a batch. */
struct preprocess_range preprocess_group(const struct preprocess_geometry *geometry,
                                         uint64_t group);
uint64_t preprocess_group_of(const struct preprocess_geometry *geometry, uint64_t batch);
uint32_t preprocess_epoch_of(const struct preprocess_geometry *geometry, uint64_t batch);
/* The positions of a batch in its epoch. first + count may exceed `samples` with `repeat`: wrap
 * them. */
struct preprocess_range preprocess_positions(const struct preprocess_geometry *geometry,
                                             uint64_t batch);
/* Positions of the batch that are in the slice of `rank`. */
struct preprocess_range preprocess_slice(const struct preprocess_geometry *geometry, uint64_t batch,
                                         uint32_t rank);
/* Positions in the slices of `rank` of all batches that `position` contains. */
uint64_t preprocess_slices_in(const struct preprocess_geometry *geometry, uint32_t rank,
                              const struct weir_position *position);
/* Positions that one epoch delivers: `samples`, less or more depending on the last batch. */
uint64_t preprocess_epoch_positions(const struct preprocess_geometry *geometry);

#endif
