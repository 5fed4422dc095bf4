/* Checksums and digests: XXH3-128 for what guards against damage and names content, never against
 * forgers. */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include "core/base/bytes.h"

enum { WEIR_DIGEST_BYTES = 16, WEIR_DIGEST_TEXT_MAX = 33 };

struct weir_digest {
    uint8_t bytes[WEIR_DIGEST_BYTES]; /* canonical (big-endian) XXH3-128 */
};

uint64_t weir_hash64(struct weir_bytes bytes, uint64_t seed);
/* A piece of a text. */
struct weir_span {
    uint32_t start;
    uint32_t size;
};
/* The same of each span of `text`: a call for all of them, for most are words. */
void weir_hash64_spans(const uint8_t *text, const struct weir_span *spans, size_t count,
                       uint64_t seed, uint64_t *ret_hashes);
struct weir_digest weir_digest_of(struct weir_bytes bytes);
/* 32 lower-case hexadecimal digits and a zero. */
void weir_digest_text(const struct weir_digest *digest, char text[WEIR_DIGEST_TEXT_MAX]);

/* A digest over pieces. */
struct weir_hasher;
struct weir_hasher *weir_hasher_new(void);
void weir_hasher_free(struct weir_hasher *hasher);
void weir_hasher_add(struct weir_hasher *hasher, const void *bytes, size_t size);
struct weir_digest weir_hasher_digest(const struct weir_hasher *hasher);
WEIR_DEFINE_AUTO(weir_hasher, weir_hasher_free)

#endif
