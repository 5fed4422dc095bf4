/* Cutting and compressing planes. Whether compression can gain anything is asked of a histogram first: zstd takes far
 * longer to find out that noise is noise. */
#include "orchestrator/models/planes.h"

#include "core/base/error.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 1, WORDS = MODEL_PLANE_BYTES };

struct model_planes {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *expand;
    uint32_t words[WORDS];
    uint8_t planes[MODEL_PLANES][MODEL_PLANE_BYTES];
};

struct model_planes *orchestrator_model_planes_new(void)
{
    struct model_planes *planes = weir_aligned_alloc(sizeof(*planes));
    planes->compress = ZSTD_createCCtx();
    planes->expand = ZSTD_createDCtx();
    weir_require(planes->compress != NULL && planes->expand != NULL);
    return planes;
}

void orchestrator_model_planes_free(struct model_planes *planes)
{
    if (planes == NULL)
        return;
    ZSTD_freeCCtx(planes->compress);
    ZSTD_freeDCtx(planes->expand);
    free(planes);
}

/* ---- words and planes ---- */

static size_t words_of(size_t bytes)
{
    return (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t);
}

static void load(uint32_t *words, struct weir_bytes bytes)
{
    if (bytes.size < words_of(bytes.size) * sizeof(*words))
        words[bytes.size / sizeof(*words)] = 0; /* the last one is not whole */
    memcpy(words, bytes.at, bytes.size);
}

WEIR_CLONES static void cut(const uint32_t *words, size_t count, uint8_t *restrict first,
                            uint8_t *restrict second, uint8_t *restrict third,
                            uint8_t *restrict fourth)
{
    for (size_t i = 0; i < count; i++) {
        first[i] = (uint8_t)words[i];
        second[i] = (uint8_t)(words[i] >> 8);
        third[i] = (uint8_t)(words[i] >> 16);
        fourth[i] = (uint8_t)(words[i] >> 24);
    }
}

WEIR_CLONES static void join(uint32_t *restrict words, size_t count, const uint8_t *first,
                             const uint8_t *second, const uint8_t *third, const uint8_t *fourth)
{
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)first[i] | (uint32_t)second[i] << 8 | (uint32_t)third[i] << 16 |
                   (uint32_t)fourth[i] << 24;
}

WEIR_CLONES static void xor_bytes(uint8_t *restrict bytes, const uint8_t *restrict with,
                                  size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] ^= with[i];
}

static size_t common(size_t block, struct weir_bytes base)
{
    return base.size < block ? base.size : block;
}

/* ---- one plane ---- */

/* Chi-square of its bytes against all being as likely: noise stays near 255, what zstd can shorten by a
 * hundredth lies far above. */
static bool is_noise(const uint8_t *plane, size_t size)
{
    uint32_t counts[4][256] = {{0}};
    double squares = 0;
    for (size_t i = 0; i + 4 <= size; i += 4)
        for (size_t k = 0; k < 4; k++) /* four tables: no increment waits for the one before */
            counts[k][plane[i + k]]++;
    for (size_t value = 0; value < 256; value++) {
        double count =
            (double)counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
        squares += count * count;
    }
    return squares * 256 < (double)size * ((double)size + 0.02 * (double)size);
}

static bool is_zero(const uint8_t *plane, size_t size)
{
    return size == 0 || (plane[0] == 0 && memcmp(plane, plane + 1, size - 1) == 0);
}

/* Returns the bytes written. */
static size_t store(struct model_planes *planes, const uint8_t *plane, size_t size, uint8_t *out,
                    uint32_t *ret_stored)
{
    *ret_stored = 0;
    if (is_zero(plane, size))
        return 0;
    if (!is_noise(plane, size)) {
        size_t got = ZSTD_compressCCtx(planes->compress, out, size - 1, plane, size, LEVEL);
        if (!ZSTD_isError(got)) {
            *ret_stored = (uint32_t)got;
            return got;
        }
    }
    memcpy(out, plane, size);
    *ret_stored = (uint32_t)size | MODEL_PLANE_PLAIN;
    return size;
}

static bool fetch(struct model_planes *planes, uint32_t stored, struct weir_bytes bytes,
                  uint8_t *plane, size_t size)
{
    if (stored == 0)
        memset(plane, 0, size);
    else if ((stored & MODEL_PLANE_PLAIN) != 0 && bytes.size == size)
        memcpy(plane, bytes.at, size);
    else if ((stored & MODEL_PLANE_PLAIN) != 0)
        return false;
    else
        return ZSTD_decompressDCtx(planes->expand, plane, size, bytes.at, bytes.size) == size;
    return true;
}

/* ---- a block ---- */

size_t orchestrator_model_planes_encode(struct model_planes *planes, struct weir_bytes block,
                                        struct weir_bytes base, uint8_t *out,
                                        uint32_t sizes[MODEL_PLANES])
{
    size_t words = words_of(block.size), written = 0;
    load(planes->words, block);
    xor_bytes((uint8_t *)planes->words, base.at, common(block.size, base));
    cut(planes->words, words, planes->planes[0], planes->planes[1], planes->planes[2],
        planes->planes[3]);
    for (size_t p = 0; p < MODEL_PLANES; p++)
        written += store(planes, planes->planes[p], words, out + written, &sizes[p]);
    return written;
}

bool orchestrator_model_planes_decode(struct model_planes *planes, struct weir_bytes stored,
                                      const uint32_t sizes[MODEL_PLANES], struct weir_bytes base,
                                      uint8_t *block, size_t size)
{
    size_t words = words_of(size);
    for (size_t p = 0; p < MODEL_PLANES; p++) {
        size_t bytes = sizes[p] & ~MODEL_PLANE_PLAIN;
        if (bytes > stored.size ||
            !fetch(planes, sizes[p], weir_bytes(stored.at, bytes), planes->planes[p], words))
            return false;
        if (bytes > 0) /* nothing may lie nowhere */
            stored = weir_bytes(stored.at + bytes, stored.size - bytes);
    }
    join(planes->words, words, planes->planes[0], planes->planes[1], planes->planes[2],
         planes->planes[3]);
    memcpy(block, planes->words, size);
    xor_bytes(block, base.at, common(size, base));
    return stored.size == 0;
}
