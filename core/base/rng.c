/* SplitMix64 and xoshiro256**, after Blackman & Vigna, "Scrambled linear pseudorandom number
 * generators" (2018), and bounded numbers after Lemire, "Fast random integer generation in an
 * interval" (2019). */
#include "core/base/rng.h"

#include "core/base/error.h"

#include <errno.h>
#include <sys/random.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t GOLDEN_RATIO = 0x9e3779b97f4a7c15u; /* SplitMix64's step: 2^64 / phi, odd */

void weir_rng_init(struct weir_rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed += GOLDEN_RATIO;
        rng->state[i] = weir_mix64(seed);
    }
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

uint64_t weir_rng_next(struct weir_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t weir_rng_below(struct weir_rng *rng, uint64_t bound)
{
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

double weir_rng_unit(struct weir_rng *rng)
{
    return (double)(weir_rng_next(rng) >> 11) * 0x1p-53;
}

void weir_random_bytes(void *bytes, size_t size)
{
    uint8_t *at = bytes;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        weir_require(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
}

uint64_t weir_random_u64(void)
{
    uint64_t value;
    weir_random_bytes(&value, sizeof value);
    return value;
}
