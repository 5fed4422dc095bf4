/* How a sample set is cut into batches and groups (C8). Pure arithmetic that dispatcher and workers
 * share: a batch number means the same samples to everybody, always.
 *
 * Batches are numbered over all epochs; positions count from 0 in each epoch; a group is a run of
 * batches inside one epoch. With `last: repeat` the positions of the last batch wrap around to the
 * beginning of the epoch. */
#ifndef WEIR_PREPROCESS_GEOMETRY_H
#define WEIR_PREPROCESS_GEOMETRY_H

#include <stdint.h>

enum preprocess_last {
    PREPROCESS_LAST_SHORT,  /* the last batch of an epoch holds what is left */
    PREPROCESS_LAST_DROP,   /* an incomplete last batch is left out */
    PREPROCESS_LAST_REPEAT, /* it is filled up from the beginning of the epoch */
};

enum {
    PREPROCESS_GROUP_BATCHES_MAX = 64,
    PREPROCESS_BATCH_SAMPLES_MAX = 1 << 20,
    PREPROCESS_GROUP_SAMPLES_MAX = 1 << 16, /* unless one batch has more */
};

struct preprocess_geometry {
    uint64_t samples; /* of the set */
    uint32_t epochs;
    uint32_t batch_samples;
    enum preprocess_last last;
    uint32_t group_batches; /* 1 … PREPROCESS_GROUP_BATCHES_MAX */
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
/* Positions that one epoch delivers: `samples`, less or more by what becomes of the last batch. */
uint64_t preprocess_epoch_positions(const struct preprocess_geometry *geometry);

#endif
