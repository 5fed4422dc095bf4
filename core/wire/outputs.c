/* Writes, maps and checks the outputs of a run; the layout is in the header. */
#include "core/wire/outputs.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/wire/sample.h"

#include <string.h>

enum {
    HEADER_BYTES = 64,
    CHECKED_BYTES = 40,
    DIGEST_AT = 24,
    LABEL_KIND_AT = 20,
    COLUMNS_AT = 21, /* bit 0: groups; above: how many columns of slices */
    LABEL_WIDTH_AT = 22,
    NAMES_AT = 48,
    EPOCH_AT = 56,
};

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'O', 'U', 'T', '1'};

static uint64_t checksum_of_header(const uint8_t *header)
{
    return weir_hash64(weir_bytes(header, CHECKED_BYTES), weir_get_u64(header + EPOCH_AT));
}

static struct weir_digest digest_of(const struct weir_bytes *pieces, size_t count)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    for (size_t i = 0; i < count; i++)
        weir_hasher_add(hasher, pieces[i].at, pieces[i].size);
    return weir_hasher_digest(hasher);
}

enum weir_status weir_outputs_write(const char *path, const struct weir_outputs *outputs,
                                    struct weir_error *err)
{
    size_t count = outputs->count, values; /* bounds of options and of batches that came */
    weir_require(outputs->width <= UINT32_MAX && outputs->label_width <= UINT16_MAX &&
                 outputs->slice_columns <= WEIR_OUTPUTS_SLICES_MAX);
    weir_require(!__builtin_mul_overflow(count, outputs->width, &values));

    uint8_t header[HEADER_BYTES] = {0};
    const struct weir_bytes pieces[] = {
        weir_bytes(header, sizeof(header)),
        weir_bytes(outputs->ids, count * sizeof(*outputs->ids)),
        weir_bytes(outputs->labels, count * sizeof(*outputs->labels)),
        weir_bytes(outputs->groups, outputs->groups == NULL ? 0 : count * sizeof(*outputs->groups)),
        weir_bytes(outputs->slices, count * outputs->slice_columns * sizeof(*outputs->slices)),
        weir_bytes(outputs->values, values * sizeof(*outputs->values)),
        weir_bytes(outputs->label_values,
                   count * outputs->label_width * sizeof(*outputs->label_values)),
        outputs->names,
    };
    struct weir_digest digest = digest_of(pieces + 1, WEIR_COUNT(pieces) - 1);
    memcpy(header, MAGIC, sizeof(MAGIC));
    weir_put_u64(header + 8, count);
    weir_put_u32(header + 16, (uint32_t)outputs->width);
    header[LABEL_KIND_AT] = outputs->label_kind;
    header[COLUMNS_AT] =
        (uint8_t)((outputs->groups != NULL) | (unsigned)outputs->slice_columns << 1);
    header[LABEL_WIDTH_AT] = (uint8_t)outputs->label_width;
    header[LABEL_WIDTH_AT + 1] = (uint8_t)(outputs->label_width >> 8);
    memcpy(header + DIGEST_AT, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(header + NAMES_AT, outputs->names.size);
    weir_put_u64(header + EPOCH_AT, outputs->epoch);
    weir_put_u64(header + CHECKED_BYTES, checksum_of_header(header));
    return weir_file_write_pieces(path, pieces, WEIR_COUNT(pieces), err);
}

/* Bytes of one sample, as the header has them. */
static size_t row_bytes(const struct weir_outputs *outputs, bool has_groups)
{
    return sizeof(*outputs->ids) + sizeof(*outputs->labels) +
           (has_groups ? sizeof(*outputs->groups) : 0) +
           outputs->slice_columns * sizeof(*outputs->slices) +
           outputs->width * sizeof(*outputs->values) +
           outputs->label_width * sizeof(*outputs->label_values);
}

static void place(struct weir_outputs *outputs, const uint8_t *at, bool has_groups)
{
    size_t count = outputs->count;
    outputs->ids = (const uint64_t *)(const void *)at;
    outputs->labels = (const int64_t *)(const void *)(outputs->ids + count);
    const int64_t *behind = outputs->labels + count;
    outputs->groups = has_groups ? behind : NULL;
    behind += has_groups ? count : 0;
    outputs->slices = outputs->slice_columns > 0 ? behind : NULL;
    outputs->values = (const float *)(const void *)(behind + count * outputs->slice_columns);
    outputs->label_values =
        outputs->label_width > 0 ? outputs->values + count * outputs->width : NULL;
}

/* Takes the names off the end of `body`. False: they are not `width` texts. */
static bool take_names(struct weir_outputs *outputs, uint64_t size, struct weir_bytes *body)
{
    size_t ends = 0;
    if (size > body->size)
        return false;
    body->size -= size;
    outputs->names = weir_bytes(body->at + body->size, size);
    for (size_t i = 0; i < size; i++)
        ends += outputs->names.at[i] == '\0';
    return size == 0 || (ends == outputs->width && outputs->names.at[size - 1] == '\0');
}

/* Fills `outputs` from its mapped file. */
static enum weir_status check(struct weir_outputs *outputs, struct weir_error *err)
{
    const uint8_t *at = outputs->map;
    if (outputs->map_bytes < HEADER_BYTES || memcmp(at, MAGIC, sizeof(MAGIC)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "expected outputs of version 1");
    if (weir_get_u64(at + CHECKED_BYTES) != checksum_of_header(at))
        return weir_fail(err, WEIR_CORRUPT, "the header fails its checksum");
    uint64_t count = weir_get_u64(at + 8);
    bool has_groups = (at[COLUMNS_AT] & 1) != 0;
    outputs->slice_columns = at[COLUMNS_AT] >> 1;
    outputs->width = weir_get_u32(at + 16);
    outputs->label_kind = at[LABEL_KIND_AT];
    outputs->epoch = weir_get_u64(at + EPOCH_AT);
    outputs->label_width = weir_get_u16(at + LABEL_WIDTH_AT);
    if (outputs->slice_columns > WEIR_OUTPUTS_SLICES_MAX ||
        outputs->label_kind > WEIR_LABEL_VALUES ||
        (outputs->label_width > 0) != (outputs->label_kind == WEIR_LABEL_VALUES))
        return weir_fail(err, WEIR_CORRUPT, "labels of kind %u with %zu numbers",
                         outputs->label_kind, outputs->label_width);
    size_t row = row_bytes(outputs, has_groups);
    struct weir_bytes body = {at + HEADER_BYTES, outputs->map_bytes - HEADER_BYTES};
    const struct weir_bytes whole = body;
    if (!take_names(outputs, weir_get_u64(at + NAMES_AT), &body))
        return weir_fail(err, WEIR_CORRUPT, "expected %zu names of values", outputs->width);
    if (body.size % row != 0 || body.size / row != count)
        return weir_fail(err, WEIR_CORRUPT,
                         "%zu bytes behind the header, expected %llu samples of %zu", body.size,
                         (unsigned long long)count, row);
    struct weir_digest digest = digest_of(&whole, 1);
    if (memcmp(digest.bytes, at + DIGEST_AT, sizeof(digest.bytes)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "the values fail their checksum");
    outputs->count = count;
    place(outputs, body.at, has_groups);
    return WEIR_OK;
}

enum weir_status weir_outputs_open(const char *path, struct weir_outputs *ret_outputs,
                                   struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    enum weir_status status = weir_file_map_no_link(path, &outputs.map, &outputs.map_bytes, err);
    if (status != WEIR_OK)
        return status;
    status = check(&outputs, err);
    if (status != WEIR_OK) {
        weir_file_unmap(outputs.map, outputs.map_bytes);
        return weir_error_wrap(err, status, "%s", path);
    }
    *ret_outputs = outputs;
    return WEIR_OK;
}

void weir_outputs_close(struct weir_outputs *outputs)
{
    weir_file_unmap(outputs->map, outputs->map_bytes);
    *outputs = (struct weir_outputs){0};
}
