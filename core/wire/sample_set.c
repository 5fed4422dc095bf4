/* Writes, maps and checks sample set files; the layout is in the header. */
#include "core/wire/sample_set.h"

#include "core/base/file.h"

#include <string.h>

enum { FLAG_WEIGHTS = 1, CHECKED_BYTES = 40, DIGEST_AT = 24 };

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'S', 'E', 'T', '1'};

static bool all_are_one(const float *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weights[i] != 1)
            return false;
    }
    return true;
}

static bool ascend_strictly(const uint64_t *ids, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (ids[i - 1] >= ids[i])
            return false;
    }
    return true;
}

/* Of count and flags as they stand in the header, then ids and weights. */
static struct weir_digest digest_of(uint64_t count, struct weir_bytes ids,
                                    struct weir_bytes weights)
{
    uint8_t head[12];
    weir_put_u64(head, count);
    weir_put_u32(head + 8, weights.size > 0 ? FLAG_WEIGHTS : 0);
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, head, sizeof head);
    weir_hasher_add(hasher, ids.at, ids.size);
    weir_hasher_add(hasher, weights.at, weights.size);
    return weir_hasher_digest(hasher);
}

enum weir_status weir_sample_set_write(const char *path, const uint64_t *ids, const float *weights,
                                       size_t count, struct weir_digest *ret_digest,
                                       struct weir_error *err)
{
    weir_require(ascend_strictly(ids, count));
    if (weights != NULL && all_are_one(weights, count))
        weights = NULL;
    struct weir_bytes id_bytes = weir_bytes(ids, count * sizeof *ids);
    struct weir_bytes weight_bytes =
        weir_bytes(weights, weights != NULL ? count * sizeof *weights : 0);
    struct weir_digest digest = digest_of(count, id_bytes, weight_bytes);

    uint8_t header[WEIR_SET_HEADER_BYTES] = {0};
    memcpy(header, MAGIC, sizeof MAGIC);
    weir_put_u64(header + 8, count);
    weir_put_u32(header + 16, weights != NULL ? FLAG_WEIGHTS : 0);
    memcpy(header + DIGEST_AT, digest.bytes, sizeof digest.bytes);
    weir_put_u64(header + CHECKED_BYTES, weir_hash64(weir_bytes(header, CHECKED_BYTES), 0));

    const struct weir_bytes pieces[] = {weir_bytes(header, sizeof header), id_bytes, weight_bytes};
    enum weir_status status = weir_file_write_pieces(path, pieces, WEIR_COUNT(pieces), err);
    if (status == WEIR_OK && ret_digest != NULL)
        *ret_digest = digest;
    return status;
}

/* Fills `set` from its mapped file; touches nothing behind what the file holds. */
static enum weir_status check_header(struct weir_sample_set *set, struct weir_error *err)
{
    const uint8_t *at = set->map;
    if (set->map_bytes < WEIR_SET_HEADER_BYTES || memcmp(at, MAGIC, sizeof MAGIC) != 0)
        return weir_fail(err, WEIR_CORRUPT, "expected a sample set of version 1");
    if (weir_get_u64(at + CHECKED_BYTES) != weir_hash64(weir_bytes(at, CHECKED_BYTES), 0))
        return weir_fail(err, WEIR_CORRUPT, "the header fails its checksum");
    if ((weir_get_u64(at + 48) | weir_get_u64(at + 56)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "the header's padding is not zero");
    uint64_t count = weir_get_u64(at + 8);
    uint32_t flags = weir_get_u32(at + 16);
    if ((flags & ~(uint32_t)FLAG_WEIGHTS) != 0)
        return weir_fail(err, WEIR_CORRUPT, "flags 0x%x, expected 0 or 1", flags);
    size_t row = sizeof *set->ids + (flags != 0 ? sizeof *set->weights : 0);
    size_t body = set->map_bytes - WEIR_SET_HEADER_BYTES;
    if (body % row != 0 || body / row != count)
        return weir_fail(err, WEIR_CORRUPT,
                         "%zu bytes behind the header, expected %llu samples of %zu", body,
                         (unsigned long long)count, row);
    set->count = count;
    set->ids = (const uint64_t *)(const void *)(at + WEIR_SET_HEADER_BYTES);
    set->weights = flags != 0 ? (const float *)(const void *)(set->ids + count) : NULL;
    memcpy(set->digest.bytes, at + DIGEST_AT, sizeof set->digest.bytes);
    return WEIR_OK;
}

static enum weir_status check_body(const struct weir_sample_set *set, struct weir_error *err)
{
    size_t count = set->count;
    struct weir_bytes ids = weir_bytes(set->ids, count * sizeof *set->ids);
    struct weir_bytes weights =
        weir_bytes(set->weights, set->weights != NULL ? count * sizeof(float) : 0);
    struct weir_digest digest = digest_of(count, ids, weights);
    if (memcmp(digest.bytes, set->digest.bytes, sizeof digest.bytes) != 0)
        return weir_fail(err, WEIR_CORRUPT, "ids and weights differ from the digest");
    if (!ascend_strictly(set->ids, count))
        return weir_fail(err, WEIR_CORRUPT, "ids do not ascend");
    return WEIR_OK;
}

enum weir_status weir_sample_set_open(const char *path, struct weir_sample_set *ret_set,
                                      struct weir_error *err)
{
    struct weir_sample_set set = {0};
    enum weir_status status = weir_file_map(path, &set.map, &set.map_bytes, err);
    if (status != WEIR_OK)
        return status;
    status = check_header(&set, err);
    if (status == WEIR_OK)
        status = check_body(&set, err);
    if (status != WEIR_OK) {
        weir_file_unmap(set.map, set.map_bytes);
        return weir_error_wrap(err, status, "%s", path);
    }
    *ret_set = set;
    return WEIR_OK;
}

void weir_sample_set_close(struct weir_sample_set *set)
{
    weir_file_unmap(set->map, set->map_bytes);
    *set = (struct weir_sample_set){0};
}

int64_t weir_sample_set_find(const struct weir_sample_set *set, uint64_t id)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && set->ids[low] == id ? (int64_t)low : -1;
}
