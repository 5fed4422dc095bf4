/* Reproducible randomness: SplitMix64 seeding xoshiro256** (Blackman & Vigna, "Scrambled linear
 * pseudorandom number generators", 2018). Same seed, same numbers on any machine. Passed in as an
 * argument wherever a decision is random; nothing in Weir reads a global generator. */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct weir_rng {
    uint64_t state[4];
};

/* The finaliser of SplitMix64: a bijection on 64 bits, used to derive seeds and as a cheap
 * fingerprint. */
static inline uint64_t weir_mix64(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}
void weir_rng_init(struct weir_rng *rng, uint64_t seed);

static inline uint64_t weir_rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* Here, and not in rng.c, because some draw a number for each of ten million candidates. */
static inline uint64_t weir_rng_next(struct weir_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = weir_rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = weir_rotate_left(s[3], 45);
    return result;
}

/* Uniform in [0, bound), without modulo bias (Lemire, "Fast random integer generation in an
 * interval", 2019). bound > 0. */
static inline uint64_t weir_rng_below(struct weir_rng *rng, uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;
    weir_require(bound > 0);
    wide product = (wide)weir_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t biased =
            (0 - bound) % bound; /* 2^64 mod bound: so many low words are one too many */
        while ((uint64_t)product < biased)
            product = (wide)weir_rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

double weir_rng_unit(struct weir_rng *rng); /* [0, 1), 53 bits */
/* Unpredictable bytes from the kernel, for session numbers and secrets only. */
void weir_random_bytes(void *bytes, size_t size);
uint64_t weir_random_u64(void);

#endif
