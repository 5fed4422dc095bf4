/* Seeding by SplitMix64, and the kernel's randomness. */
#include "core/base/rng.h"

#include "core/base/error.h"

#include <errno.h>
#include <sys/random.h>

static const uint64_t GOLDEN_RATIO = 0x9e3779b97f4a7c15u; /* SplitMix64's step: 2^64 / phi, odd */

void weir_rng_init(struct weir_rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed += GOLDEN_RATIO;
        rng->state[i] = weir_mix64(seed);
    }
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
    weir_random_bytes(&value, sizeof(value));
    return value;
}
