/* Arranging the samples of a group into batches by length class (C8): those of like class together, so that
 * little has to be filled up. Pure arithmetic that dispatcher and workers share.
 *
 * The samples of a group are sorted by class, those of one class stay in the order of the epoch; the
 * sequence is cut into the group's batches, and which batch gets which piece is drawn. Within its batch a
 * sample keeps the order of the epoch, so that the slices of ranks are alike. No sample leaves its group, no
 * batch changes its size: anything that counts positions sees no difference. */
#ifndef WEIR_PREPROCESS_ORDER_BUCKETS_H
#define WEIR_PREPROCESS_ORDER_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { BUCKETS_CLASSES_MAX = 16 };

struct buckets {
    const uint8_t *classes; /* of each sample of the group, below BUCKETS_CLASSES_MAX */
    size_t samples;
    size_t batch_samples; /* of every batch but the last, which has the rest */
    uint64_t key;         /* the draw depends on it alone */
};

/* The place in the group, in the order of the epoch, of the sample that stands at each place of its batches,
 * end to end: a permutation of 0 … samples - 1. `batch_samples` > 0 (required). */
void preprocess_buckets_arrange(const struct buckets *buckets, uint32_t *ret_places);

#endif
