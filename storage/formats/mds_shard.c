/* Mosaic shards: see mds_shard.h. */
#include "storage/formats/mds_shard.h"

#include "storage/formats/compressed.h"

#include <jansson.h>
#include <string.h>

static const struct {
    const char *name;
    enum mds_encoding encoding;
} ENCODINGS[] = {
    {"str", MDS_TEXT},  {"str_int", MDS_TEXT}, {"str_float", MDS_TEXT}, {"str_decimal", MDS_TEXT},
    {"json", MDS_JSON}, {"int", MDS_I64},      {"int8", MDS_I8},        {"uint8", MDS_U8},
    {"int16", MDS_I16}, {"uint16", MDS_U16},   {"int32", MDS_I32},      {"uint32", MDS_U32},
    {"int64", MDS_I64}, {"uint64", MDS_U64},   {"float32", MDS_F32},    {"float64", MDS_F64},
};
static const enum format_type TYPES[] = {
    [MDS_I8] = FORMAT_I8,   [MDS_U8] = FORMAT_U8,   [MDS_I16] = FORMAT_I16, [MDS_U16] = FORMAT_U16,
    [MDS_I32] = FORMAT_I32, [MDS_U32] = FORMAT_U32, [MDS_I64] = FORMAT_I64, [MDS_U64] = FORMAT_U64,
    [MDS_F32] = FORMAT_F32, [MDS_F64] = FORMAT_F64,
};

static uint64_t offset_at(const uint8_t *offsets, uint64_t number)
{
    return weir_get_u32(offsets + 4 * number);
}

uint64_t storage_mds_shard_head_bytes(struct weir_bytes head)
{
    return head.size < 8 ? head.size : offset_at(head.at + 4, 0);
}

uint64_t storage_mds_shard_offset(const struct mds_shard *shard, uint64_t number)
{
    return offset_at(shard->offsets, number);
}

uint64_t storage_mds_shard_begin(struct weir_bytes head, uint64_t number)
{
    return offset_at(head.at + 4, number);
}

bool storage_mds_shard_locate(struct weir_bytes head, uint64_t at, uint64_t *ret_number)
{
    uint64_t samples = head.size < 8 ? 0 : weir_get_u32(head.at), low = 0, high;

    high = samples < head.size / 4 - 1 ? samples : head.size / 4 - 1;
    if (samples == 0)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (storage_mds_shard_begin(head, middle) > at)
            high = middle;
        else
            low = middle + 1;
    }
    *ret_number = low - 1;
    return low > 0;
}

/* ---- columns ---- */

static enum weir_status read_column(const json_t *name, const json_t *encoding, const json_t *size,
                                    struct mds_column *column, struct weir_error *err)
{
    if (!json_is_string(name) || json_string_length(name) >= sizeof(column->name) ||
        !json_is_string(encoding) || !(json_is_integer(size) || json_is_null(size)) ||
        json_integer_value(size) < 0 || json_integer_value(size) > FORMAT_RECORD_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "found a column without a name, an encoding or a size of at most 16 MiB");
    memcpy(column->name, json_string_value(name), json_string_length(name));
    column->size = (uint64_t)json_integer_value(size);
    column->encoding = MDS_BYTES;
    for (size_t i = 0; i < WEIR_COUNT(ENCODINGS); i++) {
        if (strcmp(ENCODINGS[i].name, json_string_value(encoding)) == 0)
            column->encoding = ENCODINGS[i].encoding;
    }
    return WEIR_OK;
}

static enum weir_status read_columns(const json_t *config, struct mds_shard *shard,
                                     struct weir_error *err)
{
    const json_t *names = json_object_get(config, "column_names");
    const json_t *encodings = json_object_get(config, "column_encodings");
    const json_t *sizes = json_object_get(config, "column_sizes");
    const char *format = json_string_value(json_object_get(config, "format"));
    enum weir_status status = WEIR_OK;

    if (format == NULL || strcmp(format, "mds") != 0 ||
        json_integer_value(json_object_get(config, "version")) != 2)
        return weir_fail(err, WEIR_INVALID, "found another format or version, expected mds 2");
    shard->count = json_array_size(names);
    if (shard->count == 0 || shard->count > MDS_COLUMNS_MAX ||
        json_array_size(encodings) != shard->count || json_array_size(sizes) != shard->count)
        return weir_fail(err, WEIR_INVALID, "found %zu columns, expected 1 to %d with encodings",
                         shard->count, MDS_COLUMNS_MAX);
    for (size_t i = 0; status == WEIR_OK && i < shard->count; i++)
        status = read_column(json_array_get(names, i), json_array_get(encodings, i),
                             json_array_get(sizes, i), &shard->columns[i], err);
    return status;
}

/* Bounded by FORMAT_RECORD_MAX, and by what the file itself brings. */
static enum weir_status read_config(struct weir_bytes text, struct mds_shard *shard,
                                    struct weir_error *err)
{
    json_error_t where;
    json_t *config = json_loadb((const char *)text.at, text.size, 0, &where);
    enum weir_status status;

    if (!json_is_object(config)) {
        json_decref(config);
        return weir_fail(err, WEIR_INVALID, "found no description of columns, expected JSON");
    }
    status = read_columns(config, shard, err);
    json_decref(config);
    return status;
}

static bool are_offsets_right(const struct mds_shard *shard, uint64_t size)
{
    for (uint64_t i = 0; i < shard->samples; i++) {
        if (storage_mds_shard_offset(shard, i + 1) <= storage_mds_shard_offset(shard, i))
            return false;
    }
    return storage_mds_shard_offset(shard, shard->samples) <= size;
}

/* Brotli and snappy have no mark: numbers of such a shard cannot be right, and only its name tells why. */
enum weir_status storage_mds_shard_read(struct weir_bytes head, uint64_t size,
                                        struct mds_shard *ret_shard, struct weir_error *err)
{
    struct mds_shard shard = {0};
    uint64_t table;
    enum weir_status status;

    if (head.size < 8)
        return weir_fail(err, WEIR_INVALID, "found %zu bytes, expected a shard", head.size);
    status = storage_compressed_refuse("a shard", head, err);
    if (status != WEIR_OK)
        return status;
    shard.samples = weir_get_u32(head.at);
    shard.offsets = head.at + 4;
    table = 4 + 4 * (shard.samples + 1);
    if (table > head.size)
        return weir_fail(
            err, WEIR_INVALID,
            "found %llu samples in %llu bytes, expected fewer: a shard that is not compressed",
            (unsigned long long)shard.samples, (unsigned long long)size);
    shard.data = storage_mds_shard_offset(&shard, 0);
    if (shard.data < table || shard.data > head.size || !are_offsets_right(&shard, size))
        return weir_fail(err, WEIR_INVALID,
                         "found offsets that do not rise to the end of the shard, expected whole "
                         "samples");
    status = read_config(weir_bytes(head.at + table, (size_t)(shard.data - table)), &shard, err);
    if (status == WEIR_OK)
        *ret_shard = shard;
    return status;
}

int storage_mds_shard_find(const struct mds_shard *shard, const char *name, size_t size)
{
    for (size_t i = 0; i < shard->count; i++) {
        if (strlen(shard->columns[i].name) == size &&
            memcmp(shard->columns[i].name, name, size) == 0)
            return (int)i;
    }
    return -1;
}

bool storage_mds_shard_split(const struct mds_shard *shard, struct weir_bytes sample,
                             struct weir_bytes columns[MDS_COLUMNS_MAX])
{
    size_t sizes = 0, at = 0;

    for (size_t i = 0; i < shard->count; i++)
        at += shard->columns[i].size == 0 ? 4 : 0;
    if (at > sample.size)
        return false;
    for (size_t i = 0; i < shard->count; i++) {
        uint64_t size = shard->columns[i].size;

        if (size == 0) {
            size = weir_get_u32(sample.at + sizes);
            sizes += 4;
        }
        if (size > sample.size - at)
            return false;
        columns[i] = weir_bytes(sample.at + at, (size_t)size);
        at += (size_t)size;
    }
    return at == sample.size;
}

bool storage_mds_shard_is_scrubbed(const struct mds_shard *shard, const struct weir_bytes *columns)
{
    bool has_bytes = false;

    for (size_t i = 0; i < shard->count; i++) {
        bool is_json = shard->columns[i].encoding == MDS_JSON;
        struct weir_bytes rest = columns[i];

        if (is_json && rest.size > 0 && rest.at[0] == '0')
            rest = weir_bytes(rest.at + 1, rest.size - 1);
        for (size_t k = 0; k < rest.size; k++) {
            if (rest.at[k] != (is_json ? ' ' : 0))
                return false;
        }
        has_bytes = has_bytes || columns[i].size > 0;
    }
    return has_bytes;
}

bool storage_mds_value(enum mds_encoding encoding, struct weir_bytes bytes,
                       const struct format_field *field, double *list,
                       struct format_value *ret_value)
{
    const struct format_field number = {.type = TYPES[encoding < MDS_I8 ? MDS_I8 : encoding]};

    *ret_value = (struct format_value){.kind = FORMAT_TEXT, .text = bytes};
    if (encoding == MDS_JSON || (encoding == MDS_TEXT && field->count > 0))
        *ret_value = storage_format_list_of(bytes, list);
    else if (encoding >= MDS_I8 && bytes.size != storage_format_type_bytes(number.type))
        return false;
    else if (encoding >= MDS_I8)
        *ret_value = storage_format_numbers(&number, FORMAT_LITTLE, bytes.at, list);
    return encoding != MDS_BYTES || field->count == 0;
}
