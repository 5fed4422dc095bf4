/* XXH3 behind names of our own. */
#include "core/base/hash.h"

#include "core/base/error.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL /* most of what is hashed is a word: a call through the linker costs as much */
#include <xxhash.h>

static_assert(sizeof(XXH128_canonical_t) == WEIR_DIGEST_BYTES, "a digest is an XXH3-128");

static struct weir_digest canonical(XXH128_hash_t hash)
{
    XXH128_canonical_t bytes;
    struct weir_digest digest;
    XXH128_canonicalFromHash(&bytes, hash);
    memcpy(digest.bytes, bytes.digest, sizeof(digest.bytes));
    return digest;
}

uint64_t weir_hash64(struct weir_bytes bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.at, bytes.size, seed);
}

void weir_hash64_spans(const uint8_t *text, const struct weir_span *spans, size_t count,
                       uint64_t seed, uint64_t *ret_hashes)
{
    for (size_t i = 0; i < count; i++)
        ret_hashes[i] = XXH3_64bits_withSeed(text + spans[i].start, spans[i].size, seed);
}

struct weir_digest weir_digest_of(struct weir_bytes bytes)
{
    return canonical(XXH3_128bits(bytes.at, bytes.size));
}

void weir_digest_text(const struct weir_digest *digest, char text[WEIR_DIGEST_TEXT_MAX])
{
    weir_hex(digest->bytes, sizeof(digest->bytes), text);
}

/* xxhash's state under an opaque name: it demands 64-byte alignment, which its own constructor sees
 * to. */
static XXH3_state_t *state_of(struct weir_hasher *hasher)
{
    return (XXH3_state_t *)(void *)hasher;
}

struct weir_hasher *weir_hasher_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    weir_require(state != NULL);
    XXH3_128bits_reset(state);
    return (struct weir_hasher *)(void *)state;
}

void weir_hasher_free(struct weir_hasher *hasher)
{
    if (hasher != NULL)
        XXH3_freeState(state_of(hasher));
}

void weir_hasher_add(struct weir_hasher *hasher, const void *bytes, size_t size)
{
    if (size > 0)
        XXH3_128bits_update(state_of(hasher), bytes, size);
}

struct weir_digest weir_hasher_digest(const struct weir_hasher *hasher)
{
    return canonical(XXH3_128bits_digest((const XXH3_state_t *)(const void *)hasher));
}
