/* Maps and checks sample set files; the layout is in the header. */
#include "core/wire/sample_set.h"

#include "core/base/bisect.h"
#include "core/base/bits.h"
#include "core/base/file.h"

#include <string.h>

enum { FLAGS = WEIR_SET_WEIGHTS | WEIR_SET_SUMS | WEIR_SET_PARTS };

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'S', 'E', 'T', '1'};

static bool ascend_strictly(const uint64_t *ids, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (ids[i - 1] >= ids[i])
            return false;
    }
    return true;
}

void weir_epoch_parts_hash(const struct weir_epoch_parts *parts, struct weir_hasher *hasher)
{
    uint8_t head[12];
    if (parts->count == 0)
        return;
    weir_put_u32(head, parts->count);
    weir_put_u64(head + 4, parts->samples);
    weir_hasher_add(hasher, head, sizeof(head));
    weir_hasher_add(hasher, parts->indices, weir_epoch_parts_bytes(parts));
}

/* Of count and flags as they stand in the header, then ids and weights. */
static struct weir_digest digest_of(const struct weir_sample_set *set)
{
    uint8_t head[12];
    weir_put_u64(head, set->count);
    weir_put_u32(head + 8, set->weights != NULL && set->count > 0 ? WEIR_SET_WEIGHTS : 0);
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, head, sizeof(head));
    weir_hasher_add(hasher, set->ids, set->count * sizeof(*set->ids));
    if (set->weights != NULL)
        weir_hasher_add(hasher, set->weights, set->count * sizeof(*set->weights));
    weir_epoch_parts_hash(&set->parts, hasher);
    return weir_hasher_digest(hasher);
}

static size_t sums_of(size_t count)
{
    return (count + WEIR_SET_SUMMED - 1) / WEIR_SET_SUMMED;
}

/* `count` is no larger than what could be there. */
static size_t body_bytes(size_t count, uint32_t flags)
{
    size_t weights = flags & WEIR_SET_WEIGHTS ? count * sizeof(float) : 0;
    size_t bytes = count * sizeof(uint64_t) + weights;
    size_t columns = flags & WEIR_SET_WEIGHTS ? 2 : 1;
    if (flags & WEIR_SET_SUMS)
        bytes = (bytes + 7) / 8 * 8 + sums_of(count) * columns * sizeof(uint64_t);
    return bytes;
}

/* Epoch parts as the header has them, whose indices are the last of `body` bytes. */
static enum weir_status find_parts(const uint8_t *at, size_t body, struct weir_epoch_parts *parts,
                                   struct weir_error *err)
{
    uint32_t count = weir_get_u32(at + WEIR_SET_PARTS_AT);
    uint64_t samples = weir_get_u64(at + WEIR_SET_PART_SAMPLES_AT);
    if (count == 0 || samples == 0 || samples > body / sizeof(uint32_t) / count)
        return weir_fail(err, WEIR_CORRUPT,
                         "%zu bytes behind the header, found %u epoch parts of %llu samples", body,
                         count, (unsigned long long)samples);
    *parts = (struct weir_epoch_parts){.samples = samples, .count = count};
    const uint8_t *end = at + WEIR_SET_HEADER_BYTES + body;
    parts->indices = (const uint32_t *)(const void *)(end - weir_epoch_parts_bytes(parts));
    return WEIR_OK;
}

/* Fills `set` from its mapped file; touches nothing after what the file holds. */
static enum weir_status check_header(struct weir_sample_set *set, struct weir_error *err)
{
    const uint8_t *at = set->map;
    if (set->map_bytes < WEIR_SET_HEADER_BYTES || memcmp(at, MAGIC, sizeof(MAGIC)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "expected a sample set of version 1");
    if (weir_get_u64(at + WEIR_SET_CHECKED_BYTES) !=
        weir_hash64(weir_bytes(at, WEIR_SET_CHECKED_BYTES), 0))
        return weir_fail(err, WEIR_CORRUPT, "the header fails its checksum");
    uint64_t count = weir_get_u64(at + 8);
    uint32_t flags = weir_get_u32(at + 16);
    uint64_t part_samples = weir_get_u64(at + WEIR_SET_PART_SAMPLES_AT);
    if (((flags & WEIR_SET_PARTS ? 0 : part_samples) | weir_get_u64(at + 56)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "the header's padding is not zero");
    if ((flags & ~(uint32_t)FLAGS) != 0)
        return weir_fail(err, WEIR_CORRUPT, "flags 0x%x, expected at most 0x%x", flags, FLAGS);
    size_t body = set->map_bytes - WEIR_SET_HEADER_BYTES;
    enum weir_status status = WEIR_OK;
    if (flags & WEIR_SET_PARTS)
        status = find_parts(at, body, &set->parts, err);
    if (status != WEIR_OK)
        return status;
    body -= weir_epoch_parts_bytes(&set->parts);
    if (count > body / sizeof(*set->ids) || body != body_bytes(count, flags))
        return weir_fail(err, WEIR_CORRUPT, "%zu bytes behind the header, expected %llu samples",
                         body, (unsigned long long)count);
    set->count = count;
    set->ids = (const uint64_t *)(const void *)(at + WEIR_SET_HEADER_BYTES);
    if (flags & WEIR_SET_WEIGHTS)
        set->weights = (const float *)(const void *)(set->ids + count);
    if ((flags & WEIR_SET_WEIGHTS) && (flags & WEIR_SET_SUMS) && count % 2 == 1 &&
        weir_get_u32((const uint8_t *)(set->weights + count)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "the padding before the sums is not zero");
    if (flags & WEIR_SET_SUMS)
        set->sums = set->ids + count + (set->weights != NULL ? (count + 1) / 2 : 0);
    memcpy(set->digest.bytes, at + WEIR_SET_DIGEST_AT, sizeof(set->digest.bytes));
    return WEIR_OK;
}

/* Every index is one, and every id in some part: else models would count as having seen what no epoch had. */
static enum weir_status check_parts(const struct weir_sample_set *set, struct weir_error *err)
{
    const struct weir_epoch_parts *parts = &set->parts;
    struct weir_bits used = {0};
    enum weir_status status = WEIR_OK;
    for (uint64_t i = 0; status == WEIR_OK && i < parts->count * parts->samples; i++) {
        uint32_t index = parts->indices[i];
        bool ascends = i % parts->samples == 0 || index > parts->indices[i - 1];
        if (index < set->count && ascends)
            weir_bits_set(&used, index);
        else
            status = weir_fail(err, WEIR_CORRUPT,
                               "epoch parts: found index %u, expected ascending ones below %zu",
                               index, set->count);
    }
    size_t held = weir_bits_population(&used);
    weir_bits_fini(&used);
    if (status == WEIR_OK && parts->count > 0 && held != set->count)
        status =
            weir_fail(err, WEIR_CORRUPT, "epoch parts hold %zu of %zu samples", held, set->count);
    return status;
}

static enum weir_status check_body(const struct weir_sample_set *set, struct weir_error *err)
{
    size_t count = set->count;
    struct weir_digest digest = digest_of(set);
    if (memcmp(digest.bytes, set->digest.bytes, sizeof(digest.bytes)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "ids and weights differ from the digest");
    enum weir_status status = check_parts(set, err);
    if (status != WEIR_OK)
        return status;
    if (set->sums != NULL)
        return weir_sample_set_check(set, 0, count, err);
    if (!ascend_strictly(set->ids, count))
        return weir_fail(err, WEIR_CORRUPT, "ids do not ascend");
    return WEIR_OK;
}

/* One block of a column of `width` bytes. */
static bool is_whole(const struct weir_sample_set *set, const void *column, size_t width,
                     const uint64_t *sums, size_t block)
{
    size_t first = block * WEIR_SET_SUMMED;
    size_t left = set->count - first;
    size_t count = left < WEIR_SET_SUMMED ? left : WEIR_SET_SUMMED;
    const uint8_t *at = (const uint8_t *)column + first * width;
    return weir_get_u64((const uint8_t *)(sums + block)) ==
           weir_hash64(weir_bytes(at, count * width), 0);
}

enum weir_status weir_sample_set_check(const struct weir_sample_set *set, size_t first,
                                       size_t count, struct weir_error *err)
{
    if (count == 0 || set->sums == NULL)
        return WEIR_OK;
    const uint64_t *weight_sums = set->sums + sums_of(set->count);
    for (size_t block = first / WEIR_SET_SUMMED; block <= (first + count - 1) / WEIR_SET_SUMMED;
         block++) {
        bool whole = is_whole(set, set->ids, sizeof(*set->ids), set->sums, block) &&
                     (set->weights == NULL ||
                      is_whole(set, set->weights, sizeof(*set->weights), weight_sums, block));
        if (!whole)
            return weir_fail(err, WEIR_CORRUPT, "samples from %zu on differ from their checksum",
                             block * WEIR_SET_SUMMED);
    }
    size_t before = first > 0; /* the one before is of a neighbour, checked or not */
    if (!ascend_strictly(set->ids + first - before, count + before))
        return weir_fail(err, WEIR_CORRUPT, "ids do not ascend");
    return WEIR_OK;
}

static enum weir_status open_set(const char *path, bool unread, struct weir_sample_set *ret_set,
                                 struct weir_error *err)
{
    struct weir_sample_set set = {0};
    enum weir_status status = weir_file_map(path, &set.map, &set.map_bytes, err);
    if (status != WEIR_OK)
        return status;
    status = check_header(&set, err);
    if (status == WEIR_OK && (!unread || set.sums == NULL))
        status = check_body(&set, err);
    if (status != WEIR_OK) {
        weir_file_unmap(set.map, set.map_bytes);
        return weir_error_wrap(err, status, "%s", path);
    }
    *ret_set = set;
    return WEIR_OK;
}

enum weir_status weir_sample_set_open(const char *path, struct weir_sample_set *ret_set,
                                      struct weir_error *err)
{
    return open_set(path, false, ret_set, err);
}

enum weir_status weir_sample_set_open_unread(const char *path, struct weir_sample_set *ret_set,
                                             struct weir_error *err)
{
    return open_set(path, true, ret_set, err);
}

void weir_sample_set_close(struct weir_sample_set *set)
{
    weir_file_unmap(set->map, set->map_bytes);
    *set = (struct weir_sample_set){0};
}

int64_t weir_sample_set_find(const struct weir_sample_set *set, uint64_t id)
{
    size_t low = 0, high = set->count;
    WEIR_BISECT(low, high, middle, set->ids[middle] < id);
    return low < set->count && set->ids[low] == id ? (int64_t)low : -1;
}
