/* Packing, checking and unpacking; the layout is in the header. */
#include "selector/scores/packed.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 64, CHECKED_BYTES = 40, DIGEST_AT = 24, DIGESTED_FROM = 48 };

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'S', 'C', 'R', '1'};

/* ---- writing ---- */

static void put_ids(struct weir_buf *out, const struct weir_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        weir_require(i == 0 || outputs->ids[i] > outputs->ids[i - 1]); /* find_unscored() */
        weir_buf_append_varint(out,
                               i == 0 ? outputs->ids[0] : outputs->ids[i] - outputs->ids[i - 1]);
    }
}

static int64_t least_label(const struct weir_outputs *outputs)
{
    int64_t least = outputs->count > 0 ? outputs->labels[0] : 0;
    for (size_t i = 1; i < outputs->count; i++)
        least = outputs->labels[i] < least ? outputs->labels[i] : least;
    return least;
}

/* Appends the labels and returns the bytes of each. */
static uint32_t put_labels(struct weir_buf *out, const struct weir_outputs *outputs, int64_t least)
{
    uint64_t most = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        uint64_t above = (uint64_t)outputs->labels[i] - (uint64_t)least;
        most = above > most ? above : most;
    }
    uint32_t bytes = most == 0            ? 0
                     : most <= UINT8_MAX  ? 1
                     : most <= UINT16_MAX ? 2
                     : most <= UINT32_MAX ? 4
                                          : 8;
    for (size_t i = 0; bytes > 0 && i < outputs->count; i++) {
        uint8_t above[8];
        weir_put_u64(above, (uint64_t)outputs->labels[i] - (uint64_t)least);
        weir_buf_append(out, above, bytes);
    }
    return bytes;
}

static void finish_header(uint8_t *header, const struct weir_bytes *pieces, size_t count)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, header + DIGESTED_FROM, HEADER_BYTES - DIGESTED_FROM);
    for (size_t i = 1; i < count; i++)
        weir_hasher_add(hasher, pieces[i].at, pieces[i].size);
    struct weir_digest digest = weir_hasher_digest(hasher);
    memcpy(header + DIGEST_AT, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(header + CHECKED_BYTES, weir_hash64(weir_bytes(header, CHECKED_BYTES), 0));
}

enum weir_status selector_scores_packed_write(const char *path, const struct weir_outputs *outputs,
                                              struct weir_error *err)
{
    WEIR_AUTO_BUF labels = {0};
    WEIR_AUTO_BUF ids = {0};
    uint8_t header[HEADER_BYTES] = {0};
    int64_t least = least_label(outputs);
    memcpy(header, MAGIC, sizeof(MAGIC));
    weir_put_u64(header + 8, outputs->count);
    weir_put_u32(header + 16, (uint32_t)outputs->width);
    weir_put_u32(header + 20, put_labels(&labels, outputs, least));
    put_ids(&ids, outputs);
    weir_put_u64(header + 48, (uint64_t)least);
    weir_put_u64(header + 56, ids.size);
    const struct weir_bytes pieces[] = {
        weir_bytes(header, sizeof(header)),
        weir_bytes(outputs->values, outputs->count * outputs->width * sizeof(*outputs->values)),
        weir_buf_view(&labels),
        weir_buf_view(&ids),
    };
    finish_header(header, pieces, WEIR_COUNT(pieces));
    return weir_file_write_pieces(path, pieces, WEIR_COUNT(pieces), err);
}

/* ---- reading ---- */

struct shape {
    size_t count, width, label_bytes, id_bytes;
    int64_t least;
};

static enum weir_status check(const uint8_t *at, size_t size, struct shape *ret_shape,
                              struct weir_error *err)
{
    if (size < HEADER_BYTES || memcmp(at, MAGIC, sizeof(MAGIC)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "expected scores of version 1");
    if (weir_get_u64(at + CHECKED_BYTES) != weir_hash64(weir_bytes(at, CHECKED_BYTES), 0))
        return weir_fail(err, WEIR_CORRUPT, "the header fails its checksum");
    struct weir_digest digest =
        weir_digest_of(weir_bytes(at + DIGESTED_FROM, size - DIGESTED_FROM));
    if (memcmp(digest.bytes, at + DIGEST_AT, sizeof(digest.bytes)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "the values fail their checksum");
    const struct shape shape = {.count = weir_get_u64(at + 8),
                                .width = weir_get_u32(at + 16),
                                .label_bytes = weir_get_u32(at + 20),
                                .least = (int64_t)weir_get_u64(at + 48),
                                .id_bytes = weir_get_u64(at + 56)};
    size_t body = size - HEADER_BYTES, row = shape.width * sizeof(float) + shape.label_bytes;
    bool known = shape.label_bytes <= 8 && (shape.label_bytes & (shape.label_bytes - 1)) == 0;
    if (!known || shape.id_bytes > body || shape.count > shape.id_bytes ||
        (row > 0 && shape.count > (body - shape.id_bytes) / row) ||
        shape.count * row != body - shape.id_bytes)
        return weir_fail(err, WEIR_CORRUPT,
                         "%zu bytes behind the header, expected %zu samples of %zu and %zu of ids",
                         body, shape.count, row, shape.id_bytes);
    *ret_shape = shape;
    return WEIR_OK;
}

static bool take_ids(struct weir_bytes bytes, uint64_t *ids, size_t count)
{
    uint64_t distance = 0;
    for (size_t i = 0; i < count; i++) {
        if (!weir_take_varint(&bytes, &distance))
            return false;
        ids[i] = i == 0 ? distance : ids[i - 1] + distance;
        if (i > 0 && ids[i] <= ids[i - 1])
            return false;
    }
    return bytes.size == 0;
}

static void take_labels(const uint8_t *at, const struct shape *shape, int64_t *labels)
{
    for (size_t i = 0; i < shape->count; i++) {
        uint8_t above[8] = {0};
        memcpy(above, at + i * shape->label_bytes, shape->label_bytes);
        labels[i] = (int64_t)((uint64_t)shape->least + weir_get_u64(above));
    }
}

static enum weir_status unpack(struct scores_packed *packed, struct weir_error *err)
{
    const uint8_t *at = packed->map;
    struct shape shape;
    enum weir_status status = check(at, packed->map_bytes, &shape, err);
    if (status != WEIR_OK)
        return status;
    const uint8_t *labels = at + HEADER_BYTES + shape.count * shape.width * sizeof(float);
    const uint8_t *ids = labels + shape.count * shape.label_bytes;
    packed->ids = weir_calloc(shape.count + 1, sizeof(*packed->ids));
    packed->labels = weir_calloc(shape.count + 1, sizeof(*packed->labels));
    take_labels(labels, &shape, packed->labels);
    if (!take_ids(weir_bytes(ids, shape.id_bytes), packed->ids, shape.count))
        return weir_fail(err, WEIR_CORRUPT, "expected %zu ids that ascend", shape.count);
    packed->outputs = (struct weir_outputs){
        .ids = packed->ids,
        .labels = packed->labels,
        .values = (const float *)(const void *)(at + HEADER_BYTES),
        .count = shape.count,
        .width = shape.width,
    };
    return WEIR_OK;
}

enum weir_status selector_scores_packed_open(const char *path, struct scores_packed *ret_packed,
                                             struct weir_error *err)
{
    struct scores_packed packed = {.map = NULL};
    enum weir_status status = weir_file_map(path, &packed.map, &packed.map_bytes, err);
    if (status != WEIR_OK)
        return status;
    status = unpack(&packed, err);
    if (status != WEIR_OK) {
        selector_scores_packed_close(&packed);
        return weir_error_wrap(err, status, "%s", path);
    }
    *ret_packed = packed;
    return WEIR_OK;
}

void selector_scores_packed_close(struct scores_packed *packed)
{
    free(packed->ids);
    free(packed->labels);
    weir_file_unmap(packed->map, packed->map_bytes);
    *packed = (struct scores_packed){.map = NULL};
}
