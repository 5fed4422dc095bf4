/* The order of samples in an epoch: a keyed permutation. */
#include "preprocess/order/order.h"

#include "core/base/rng.h"

enum { RUN = 512 }; /* positions that are walked together */

struct feistel {
    unsigned half; /* bits of each half */
    uint64_t mask;
    uint64_t key[PREPROCESS_ORDER_ROUNDS];
};

static struct feistel feistel_over(uint64_t count, uint64_t key)
{
    unsigned bits = count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 0;
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
    struct feistel feistel = feistel_over(count, key);
    do {
        index = feistel_step(&feistel, index);
    } while (index >= count);
    return index;
}

WEIR_CLONES
static void step_all(const struct feistel *feistel, uint64_t *values, size_t count)
{
    struct feistel here = *feistel; /* no store of the loop can change it */
    for (size_t i = 0; i < count; i++)
        values[i] = feistel_step(&here, values[i]);
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

/* Samples that are permuted among themselves: all of an epoch, or a window. */
struct deck {
    uint64_t key, base, count;
};

static struct deck deck_of(const struct preprocess_order *order, uint32_t epoch, uint64_t position)
{
    uint64_t key = weir_mix64(order->key ^ weir_mix64(epoch + (uint64_t)1));
    if (order->shuffle == PREPROCESS_SHUFFLE_FULL)
        return (struct deck){.key = key, .count = order->samples};
    uint64_t block = position / order->window, base = block * order->window;
    uint64_t left = order->samples - base;
    return (struct deck){.key = weir_mix64(key ^ block),
                         .base = base,
                         .count = left < order->window ? left : order->window};
}

uint64_t preprocess_order_at(const struct preprocess_order *order, uint32_t epoch,
                             uint64_t position)
{
    weir_require(position < order->samples);
    if (order->shuffle == PREPROCESS_SHUFFLE_NONE)
        return position;
    struct deck deck = deck_of(order, epoch, position);
    return deck.base + permute(deck.key, deck.count, position - deck.base);
}

/* All of them take a step together; those that are outside then take another one. */
static void permute_run(const struct deck *deck, uint64_t first, size_t run, uint64_t *to)
{
    uint64_t walking[RUN];
    uint32_t places[RUN];
    struct feistel feistel = feistel_over(deck->count, deck->key);
    for (size_t i = 0; i < run; i++) {
        walking[i] = first + i;
        places[i] = (uint32_t)i;
    }
    for (size_t left = run, outside; left > 0; left = outside) {
        step_all(&feistel, walking, left);
        outside = 0;
        for (size_t i = 0; i < left; i++) {
            uint64_t value = walking[i];
            uint32_t place = places[i];
            to[place] = deck->base + value; /* again later, if it is outside */
            walking[outside] = value;
            places[outside] = place;
            outside += value >= deck->count;
        }
    }
}

/* Positions from `first` on that one deck has, RUN at most; returns how many. */
static size_t deal(const struct preprocess_order *order, uint32_t epoch,
                   struct preprocess_range positions, uint64_t *to)
{
    struct deck deck = deck_of(order, epoch, positions.first);
    uint64_t left = deck.base + deck.count - positions.first;
    size_t run = positions.count < RUN ? positions.count : RUN;
    run = run < left ? run : left;
    permute_run(&deck, positions.first - deck.base, run, to);
    return run;
}

void preprocess_order_run(const struct preprocess_order *order, uint32_t epoch,
                          struct preprocess_range positions, uint64_t *ret_indices)
{
    weir_require(positions.first + positions.count <= order->samples);
    if (order->shuffle == PREPROCESS_SHUFFLE_NONE) {
        for (size_t i = 0; i < positions.count; i++)
            ret_indices[i] = positions.first + i;
        return;
    }
    while (positions.count > 0) {
        size_t run = deal(order, epoch, positions, ret_indices);
        positions.first += run;
        positions.count -= (uint32_t)run;
        ret_indices += run;
    }
}
