/* Which sample stands at which position of an epoch: a keyed permutation. */
#include "preprocess/order.h"

#include "core/base/error.h"
#include "core/base/rng.h"

struct feistel {
    unsigned half; /* bits of each half */
    uint64_t mask;
    uint64_t key[PREPROCESS_ORDER_ROUNDS];
};

static struct feistel feistel_over(uint64_t count, uint64_t key)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(count - 1);
    struct feistel feistel = {.half = (bits + 1) / 2};
    feistel.mask = ((uint64_t)1 << feistel.half) - 1;
    for (unsigned i = 0; i < PREPROCESS_ORDER_ROUNDS; i++)
        feistel.key[i] = weir_mix64(key + i + 1);
    return feistel;
}

static uint64_t feistel_step(const struct feistel *feistel, uint64_t value)
{
    uint64_t left = value >> feistel->half, right = value & feistel->mask;
    for (unsigned i = 0; i < PREPROCESS_ORDER_ROUNDS; i++) {
        uint64_t mixed = left ^ (weir_mix64(right ^ feistel->key[i]) & feistel->mask);
        left = right;
        right = mixed;
    }
    return left << feistel->half | right;
}

static uint64_t permute(uint64_t key, uint64_t count, uint64_t index)
{
    if (count <= 1)
        return 0;
    struct feistel feistel = feistel_over(count, key);
    do {
        index = feistel_step(&feistel, index);
    } while (index >= count);
    return index;
}

struct preprocess_order preprocess_order_plan(enum preprocess_shuffle shuffle, uint64_t window,
                                              uint64_t samples, const struct weir_digest *digest,
                                              uint64_t seed)
{
    weir_require(shuffle != PREPROCESS_SHUFFLE_WINDOWED || window > 0);
    weir_require(samples < (uint64_t)1 << 62);
    uint64_t key = weir_mix64(weir_get_u64(digest->bytes));
    key = weir_mix64(key ^ weir_get_u64(digest->bytes + 8));
    key = weir_mix64(key ^ seed);
    return (struct preprocess_order){
        .shuffle = shuffle, .samples = samples, .window = window, .key = key};
}

uint64_t preprocess_order_at(const struct preprocess_order *order, uint32_t epoch,
                             uint64_t position)
{
    weir_require(position < order->samples);
    uint64_t key = weir_mix64(order->key ^ weir_mix64(epoch + (uint64_t)1));
    switch (order->shuffle) {
    case PREPROCESS_SHUFFLE_FULL:
        return permute(key, order->samples, position);
    case PREPROCESS_SHUFFLE_WINDOWED: {
        uint64_t block = position / order->window, base = block * order->window;
        uint64_t left = order->samples - base;
        uint64_t count = left < order->window ? left : order->window;
        return base + permute(weir_mix64(key ^ block), count, position - base);
    }
    case PREPROCESS_SHUFFLE_NONE:
        break;
    }
    return position;
}
