/* The hash that recommendation models know as SigridHash: Thomas Wang's 64-bit mix, joined with a
 * salt as CityHash joins 128 bits to 64, modulo the buckets, floored. */
#ifndef WEIR_PREPROCESS_OPERATORS_SIGRID_H
#define WEIR_PREPROCESS_OPERATORS_SIGRID_H

#include <stdint.h>

/* A number of buckets with what saves the division: u / buckets is the high half of u * reciprocal,
 * or one more. Signed hashes are negative from 2^63 on: 2^64 mod buckets is then taken off. */
struct sigrid {
    uint64_t salt, buckets, reciprocal, wrap;
};

static inline struct sigrid sigrid_of(uint64_t buckets, uint64_t salt)
{
    return (struct sigrid){.salt = salt,
                           .buckets = buckets,
                           .reciprocal = UINT64_MAX / buckets,
                           .wrap = (UINT64_MAX % buckets + 1) % buckets};
}

static inline uint64_t sigrid_mix(uint64_t key)
{
    key = ~key + (key << 21);
    key ^= key >> 24;
    key *= 265;
    key ^= key >> 14;
    key *= 21;
    key ^= key >> 28;
    return key + (key << 31);
}

static inline uint64_t sigrid_join(uint64_t upper, uint64_t lower)
{
    const uint64_t prime = 0x9ddfea08eb382d69;
    uint64_t a = (lower ^ upper) * prime;
    a ^= a >> 47;
    uint64_t b = (upper ^ a) * prime;
    b ^= b >> 47;
    return b * prime;
}

/* In [0, buckets). */
static inline uint64_t sigrid_bucket(const struct sigrid *sigrid, uint64_t hash)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t quotient = (uint64_t)((wide)hash * sigrid->reciprocal >> 64);
    uint64_t rest = hash - quotient * sigrid->buckets;
    rest -= rest >= sigrid->buckets ? sigrid->buckets : 0;
    uint64_t wrap = hash >> 63 ? sigrid->wrap : 0;
    return rest - wrap + (rest < wrap ? sigrid->buckets : 0);
}

static inline uint64_t sigrid_hash(const struct sigrid *sigrid, int64_t id)
{
    return sigrid_bucket(sigrid, sigrid_join(sigrid->salt, sigrid_mix((uint64_t)id)));
}

#endif
