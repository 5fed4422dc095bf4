/* The order of samples in an epoch (C8): a keyed permutation that is computed, not
 * stored. The key is (set digest, seed, epoch), so that everybody who knows the job knows the order.
 *
 * A Feistel network over the smallest even number of bits that holds the count, walked along its
 * cycle until it lands inside (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002):
 * fewer than four steps on average. */
#ifndef WEIR_PREPROCESS_ORDER_ORDER_H
#define WEIR_PREPROCESS_ORDER_ORDER_H

#include "core/base/hash.h"
#include "preprocess/order/geometry.h"

enum preprocess_shuffle {
    PREPROCESS_SHUFFLE_FULL,     /* any sample may stand anywhere */
    PREPROCESS_SHUFFLE_NONE,     /* the order of the set */
    PREPROCESS_SHUFFLE_WINDOWED, /* shuffled within runs of `window` samples of the set */
};

enum { PREPROCESS_ORDER_ROUNDS = 6 };

struct preprocess_order {
    enum preprocess_shuffle shuffle;
    uint64_t samples;
    uint64_t window; /* windowed: > 0 */
    uint64_t key;
};

struct preprocess_order preprocess_order_plan(enum preprocess_shuffle shuffle, uint64_t window,
                                              uint64_t samples, const struct weir_digest *digest,
                                              uint64_t seed);
/* The index in the set of the sample at `position` < samples of `epoch`. */
uint64_t preprocess_order_at(const struct preprocess_order *order, uint32_t epoch,
                             uint64_t position);
/* The same of a range of positions, all < samples. */
void preprocess_order_run(const struct preprocess_order *order, uint32_t epoch,
                          struct preprocess_range positions, uint64_t *ret_indices);

#endif
