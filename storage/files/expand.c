/* Compressed sources: see expand.h. */
#include "storage/files/expand.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

enum { PIECE_BYTES = 256 << 10, FRAME_HEADER_MAX = 18 };

struct expansion {
    ZSTD_DCtx *context;
    int from;
    uint64_t size;  /* of the compressed file */
    uint64_t taken; /* of it so far */
    uint64_t made, made_max;
    ZSTD_inBuffer in;
    bool is_inside; /* of a frame */
    uint8_t compressed[PIECE_BYTES];
    uint8_t expanded[PIECE_BYTES];
};

/* ---- which ---- */

bool storage_is_compressed(const struct dataset *dataset, const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot != NULL && (strcmp(dot, ".zst") == 0 || strcmp(dot, ".zstd") == 0) &&
           !dataset->declaration->format->is_one_sample && !dataset->declaration->is_pushed;
}

bool storage_is_expanded(const struct dataset *dataset, const char *path)
{
    return dataset->declaration->is_copied && storage_is_compressed(dataset, path);
}

const char *storage_compressor_of(const struct dataset *dataset, const char *path)
{
    static const struct {
        const char *suffix, *name;
    } COMPRESSORS[] = {{".br", "brotli"}, {".snappy", "snappy"}};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < WEIR_COUNT(COMPRESSORS); i++) {
        if (strcmp(dot, COMPRESSORS[i].suffix) == 0 && !dataset->declaration->format->is_one_sample)
            return COMPRESSORS[i].name;
    }
    return NULL;
}

uint64_t storage_source_identity(const struct dataset *dataset, const char *path,
                                 const struct stat *source)
{
    if (!storage_is_expanded(dataset, path))
        return source->st_ino;
    return weir_mix64(source->st_ino ^ weir_mix64((uint64_t)source->st_size));
}

/* ---- expanding ---- */

static uint64_t most_of(uint64_t size)
{
    if (size > (EXPAND_BYTES_MAX - EXPAND_FREE_BYTES) / EXPAND_RATIO_MAX)
        return EXPAND_BYTES_MAX;
    return EXPAND_FREE_BYTES + EXPAND_RATIO_MAX * size;
}

static enum weir_status check_announced(const struct expansion *expansion, struct weir_error *err)
{
    uint8_t header[FRAME_HEADER_MAX];
    ssize_t got = pread(expansion->from, header, sizeof(header), 0);
    unsigned long long announced =
        got > 0 ? ZSTD_getFrameContentSize(header, (size_t)got) : ZSTD_CONTENTSIZE_ERROR;

    if (announced == ZSTD_CONTENTSIZE_ERROR || announced == ZSTD_CONTENTSIZE_UNKNOWN ||
        announced <= expansion->made_max)
        return WEIR_OK; /* what is wrong is found with its place */
    return weir_fail(err, WEIR_INVALID,
                     "found %llu bytes announced in %llu of zstd, expected at most %llu", announced,
                     (unsigned long long)expansion->size, (unsigned long long)expansion->made_max);
}

enum weir_status storage_expansion_begin(int from, uint64_t size, struct expansion **ret_expansion,
                                         struct weir_error *err)
{
    struct expansion *expansion = weir_calloc(1, sizeof(*expansion));
    enum weir_status status;

    expansion->from = from;
    expansion->size = size;
    expansion->made_max = most_of(size);
    expansion->in.src = expansion->compressed;
    status = check_announced(expansion, err);
    expansion->context = ZSTD_createDCtx();
    if (status == WEIR_OK && (expansion->context == NULL ||
                              ZSTD_isError(ZSTD_DCtx_setParameter(
                                  expansion->context, ZSTD_d_windowLogMax, EXPAND_WINDOW_LOG_MAX))))
        status = weir_fail(err, WEIR_INTERNAL, "cannot set up zstd");
    if (status == WEIR_OK)
        *ret_expansion = expansion;
    else
        storage_expansion_free(expansion);
    return status;
}

void storage_expansion_free(struct expansion *expansion)
{
    if (expansion == NULL)
        return;
    ZSTD_freeDCtx(expansion->context);
    free(expansion);
}

static enum weir_status fail_at(const struct expansion *expansion, struct weir_error *err,
                                const char *what)
{
    return weir_fail(
        err, WEIR_INVALID, "compressed byte %llu: %s",
        (unsigned long long)(expansion->taken - (expansion->in.size - expansion->in.pos)), what);
}

static enum weir_status refill(struct expansion *expansion, struct weir_error *err)
{
    uint64_t left = expansion->size - expansion->taken;
    size_t want = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    ssize_t got;

    do
        got = pread(expansion->from, expansion->compressed, want, (off_t)expansion->taken);
    while (got < 0 && errno == EINTR);
    if (got < 0 || (got == 0 && want > 0))
        return weir_fail(err, WEIR_STALE, "source ended at byte %llu, expected %llu",
                         (unsigned long long)expansion->taken, (unsigned long long)expansion->size);
    expansion->taken += (uint64_t)got;
    expansion->in.size = (size_t)got;
    expansion->in.pos = 0;
    return WEIR_OK;
}

/* Decompresses what is at hand; 0 bytes made of it is no end: a frame's header makes none. */
static enum weir_status expand(struct expansion *expansion, ZSTD_outBuffer *out,
                               struct weir_error *err)
{
    size_t hint = ZSTD_decompressStream(expansion->context, out, &expansion->in);

    if (ZSTD_isError(hint)) {
        WEIR_AUTO_FREE char *what =
            weir_format("found %s, expected whole frames of zstd", ZSTD_getErrorName(hint));

        return fail_at(expansion, err, what);
    }
    expansion->is_inside = hint != 0;
    expansion->made += out->pos;
    if (expansion->made > expansion->made_max) {
        WEIR_AUTO_FREE char *what = weir_format(
            "found more than %llu bytes in %llu of zstd, expected fewer",
            (unsigned long long)expansion->made_max, (unsigned long long)expansion->size);

        return fail_at(expansion, err, what);
    }
    return WEIR_OK;
}

enum weir_status storage_expansion_next(struct expansion *expansion, struct weir_bytes *ret_piece,
                                        struct weir_error *err)
{
    ZSTD_outBuffer out = {expansion->expanded, PIECE_BYTES, 0};
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && out.pos == 0) {
        bool is_end = false;

        if (expansion->in.pos == expansion->in.size) {
            is_end = expansion->taken == expansion->size;
            status = refill(expansion, err);
        }
        if (status != WEIR_OK || (is_end && !expansion->is_inside))
            break;
        status = expand(expansion, &out, err); /* at the end, too: some may be held back */
        if (status == WEIR_OK && is_end && out.pos == 0)
            status = fail_at(expansion, err, "found the end within a frame, expected all of it");
    }
    *ret_piece = weir_bytes(out.dst, out.pos);
    return status;
}
