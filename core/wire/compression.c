/* One row per way to compress: LZ4 for networks as fast as a memory is slow, zstd for slower ones. */
#include "core/wire/compression.h"

#include "core/base/memory.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 1, SAMPLE_BYTES = 32 * 1024, LZ4_RATIO_MAX = 255 };

const char *const WEIR_COMPRESSIONS[] = {"none", "lz4", "zstd", NULL};

/* All take at most `room`, and return 0 when that is too little. */
struct method {
    size_t (*compress)(struct weir_bytes in, void *out, size_t room);
    size_t (*expand)(struct weir_bytes in, void *out, size_t room);
    bool (*may_expand)(struct weir_bytes in, size_t size);
};

static size_t compress_lz4(struct weir_bytes in, void *out, size_t room)
{
    int size = LZ4_compress_default((const char *)in.at, out, (int)in.size, (int)room);
    return size > 0 ? (size_t)size : 0;
}

static size_t expand_lz4(struct weir_bytes in, void *out, size_t room)
{
    int size = LZ4_decompress_safe((const char *)in.at, out, (int)in.size, (int)room);
    return size > 0 ? (size_t)size : 0;
}

/* A byte stands for 255 at most. */
static bool may_expand_lz4(struct weir_bytes in, size_t size)
{
    return size / LZ4_RATIO_MAX <= in.size;
}

static size_t compress_zstd(struct weir_bytes in, void *out, size_t room)
{
    size_t size = ZSTD_compress(out, room, in.at, in.size, ZSTD_LEVEL);
    return ZSTD_isError(size) ? 0 : size;
}

static size_t expand_zstd(struct weir_bytes in, void *out, size_t room)
{
    size_t size = ZSTD_decompress(out, room, in.at, in.size);
    return ZSTD_isError(size) ? 0 : size;
}

static bool may_expand_zstd(struct weir_bytes in, size_t size)
{
    return ZSTD_getFrameContentSize(in.at, in.size) == size;
}

static const struct method METHODS[] = {
    [WEIR_COMPRESSION_LZ4] = {compress_lz4, expand_lz4, may_expand_lz4},
    [WEIR_COMPRESSION_ZSTD] = {compress_zstd, expand_zstd, may_expand_zstd},
};

/* NULL: there is no such. */
static const struct method *method_of(uint32_t how)
{
    return how > WEIR_COMPRESSION_NONE && how < WEIR_COUNT(METHODS) ? &METHODS[how] : NULL;
}

static size_t worth(size_t size)
{
    return size - size / 8;
}

void *weir_compress(enum weir_compression how, struct weir_bytes in, size_t *ret_size)
{
    const struct method *method = method_of(how);
    struct weir_bytes beginning =
        weir_bytes(in.at, in.size < SAMPLE_BYTES ? in.size : SAMPLE_BYTES);
    if (method == NULL || in.size < WEIR_COMPRESSED_BYTES_MIN || in.size > INT_MAX)
        return NULL;
    WEIR_AUTO_FREE void *out = weir_realloc(NULL, worth(in.size), 1);
    size_t size = method->compress(beginning, out, worth(beginning.size));
    if (size > 0 && beginning.size < in.size)
        size = method->compress(in, out, worth(in.size));
    if (size == 0)
        return NULL;
    *ret_size = size;
    return weir_realloc(WEIR_TAKE(out), size, 1);
}

bool weir_may_expand(uint32_t how, struct weir_bytes in, size_t size)
{
    const struct method *method = method_of(how);
    return method != NULL && in.size <= INT_MAX && size > 0 && size <= INT_MAX &&
           method->may_expand(in, size);
}

bool weir_expand(uint32_t how, struct weir_bytes in, void *out, size_t size)
{
    return weir_may_expand(how, in, size) && method_of(how)->expand(in, out, size) == size;
}
