/* Reproducible randomness: SplitMix64 seeding xoshiro256** (Blackman & Vigna, 2018). Same seed,
 * same numbers on any machine. Passed in as an argument wherever a decision is random; nothing in
 * Weir reads a global generator. */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

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
uint64_t weir_rng_next(struct weir_rng *rng);
/* Uniform in [0, bound), without modulo bias (Lemire 2019). bound > 0. */
uint64_t weir_rng_below(struct weir_rng *rng, uint64_t bound);
double weir_rng_unit(struct weir_rng *rng); /* [0, 1), 53 bits */
/* Unpredictable bytes from the kernel, for session numbers and secrets only. */
void weir_random_bytes(void *bytes, size_t size);
uint64_t weir_random_u64(void);

#endif
