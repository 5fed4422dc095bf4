/* tf.train.Example by hand: see example.h. Numbers of fields are those of tensorflow's example.proto and
 * feature.proto. */
#include "storage/formats/example.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUE = 1 };
enum { FEATURE_BYTES = 1, FEATURE_FLOATS = 2, FEATURE_INTS = 3 };

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t varint;
    struct weir_bytes bytes; /* of WIRE_BYTES, WIRE_32, WIRE_64 */
};

/* Drops bits beyond 64, as protobuf does. */
static bool take_varint(struct weir_bytes *rest, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && rest->size > 0; shift += 7) {
        uint8_t byte = rest->at[0];

        *rest = weir_bytes(rest->at + 1, rest->size - 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* The next field of a message. */
static bool take_field(struct weir_bytes *rest, struct field *field)
{
    uint64_t tag, size;

    if (!take_varint(rest, &tag))
        return false;
    field->number = tag >> 3;
    field->wire = (enum wire)(tag & 7);
    switch (field->wire) {
    case WIRE_VARINT:
        return take_varint(rest, &field->varint);
    case WIRE_64:
        return weir_take(rest, 8, &field->bytes);
    case WIRE_BYTES:
        return take_varint(rest, &size) && weir_take(rest, size, &field->bytes);
    case WIRE_32:
        return weir_take(rest, 4, &field->bytes);
    }
    return false;
}

/* ---- lists; each fills `value` with what it holds, *ret_count with how much ---- */

static bool read_texts(struct weir_bytes list, struct format_value *value, size_t *ret_count)
{
    struct field field;

    for (*ret_count = 0; list.size > 0;) {
        if (!take_field(&list, &field))
            return false;
        if (field.number != LIST_VALUE || field.wire != WIRE_BYTES)
            continue;
        *value = (struct format_value){.kind = FORMAT_TEXT, .text = field.bytes};
        (*ret_count)++;
    }
    return true;
}

static void put_number(struct format_value value, double real, double *list, size_t *count,
                       struct format_value *ret_last)
{
    if (*count < FORMAT_LIST_MAX)
        list[*count] = real;
    (*count)++;
    *ret_last = value;
}

static void put_float(const uint8_t *at, double *list, size_t *count, struct format_value *ret_last)
{
    double real = (double)weir_get_f32(at);

    put_number((struct format_value){.kind = FORMAT_REAL, .f64 = real}, real, list, count,
               ret_last);
}

static bool put_int(struct weir_bytes *rest, double *list, size_t *count,
                    struct format_value *ret_last)
{
    uint64_t bits;

    if (!take_varint(rest, &bits))
        return false;
    put_number((struct format_value){.kind = FORMAT_INT, .i64 = (int64_t)bits},
               (double)(int64_t)bits, list, count, ret_last);
    return true;
}

/* Packed or one by one, as writers like. */
static bool read_floats(struct weir_bytes list, double *numbers, struct format_value *value,
                        size_t *ret_count)
{
    struct field field;

    for (*ret_count = 0; list.size > 0;) {
        if (!take_field(&list, &field))
            return false;
        if (field.number != LIST_VALUE)
            continue;
        if ((field.wire != WIRE_BYTES && field.wire != WIRE_32) || field.bytes.size % 4 != 0)
            return false;
        for (size_t i = 0; i < field.bytes.size; i += 4)
            put_float(field.bytes.at + i, numbers, ret_count, value);
    }
    return true;
}

static bool read_ints(struct weir_bytes list, double *numbers, struct format_value *value,
                      size_t *ret_count)
{
    struct field field;

    for (*ret_count = 0; list.size > 0;) {
        if (!take_field(&list, &field))
            return false;
        if (field.number != LIST_VALUE)
            continue;
        if (field.wire == WIRE_VARINT) {
            put_number((struct format_value){.kind = FORMAT_INT, .i64 = (int64_t)field.varint},
                       (double)(int64_t)field.varint, numbers, ret_count, value);
            continue;
        }
        if (field.wire != WIRE_BYTES)
            return false;
        while (field.bytes.size > 0) {
            if (!put_int(&field.bytes, numbers, ret_count, value))
                return false;
        }
    }
    return true;
}

static bool read_list(const struct field *feature, double *numbers, struct format_value *value,
                      size_t *ret_count)
{
    if (feature->number == FEATURE_BYTES)
        return read_texts(feature->bytes, value, ret_count);
    if (feature->number == FEATURE_FLOATS)
        return read_floats(feature->bytes, numbers, value, ret_count);
    return feature->number != FEATURE_INTS || read_ints(feature->bytes, numbers, value, ret_count);
}

static bool read_feature(struct weir_bytes feature, const struct format_field *wanted,
                         double *numbers, struct format_value *ret_value)
{
    struct format_value value = {.kind = FORMAT_ABSENT};
    struct field field;
    size_t count = 0;

    while (feature.size > 0) {
        if (!take_field(&feature, &field))
            return false;
        if (field.wire == WIRE_BYTES && !read_list(&field, numbers, &value, &count))
            return false;
    }
    if (count == 0 || (count > 1 && value.kind == FORMAT_TEXT) || count > FORMAT_LIST_MAX)
        value = (struct format_value){.kind = FORMAT_ABSENT};
    else if ((count > 1 || wanted->count > 0) && value.kind != FORMAT_TEXT)
        value = (struct format_value){.kind = FORMAT_LIST, .list = {.at = numbers, .count = count}};
    *ret_value = value;
    return true;
}

/* ---- the map ---- */

static bool read_entry(struct weir_bytes entry, const struct format_fields *fields,
                       double (*lists)[FORMAT_LIST_MAX], struct format_value *ret_values)
{
    struct weir_bytes key = {0}, feature = {0};
    struct field field;

    while (entry.size > 0) {
        if (!take_field(&entry, &field))
            return false;
        if (field.wire == WIRE_BYTES && field.number == ENTRY_KEY)
            key = field.bytes;
        if (field.wire == WIRE_BYTES && field.number == ENTRY_VALUE)
            feature = field.bytes;
    }
    for (int i = 0; i < FORMAT_ROLES; i++) {
        const struct format_field *wanted = &fields->each[i];

        if (wanted->from == FORMAT_NAMED && weir_bytes_equal(key, weir_bytes_of(wanted->name)) &&
            !read_feature(feature, wanted, lists[i], &ret_values[i]))
            return false;
    }
    return true;
}

bool storage_example_read(struct weir_bytes record, const struct format_fields *fields,
                          double (*lists)[FORMAT_LIST_MAX],
                          struct format_value ret_values[FORMAT_ROLES])
{
    struct field features, entry;

    for (int i = 0; i < FORMAT_ROLES; i++)
        ret_values[i] = (struct format_value){.kind = FORMAT_ABSENT};
    while (record.size > 0) {
        if (!take_field(&record, &features))
            return false;
        if (features.number != EXAMPLE_FEATURES || features.wire != WIRE_BYTES)
            continue;
        while (features.bytes.size > 0) {
            if (!take_field(&features.bytes, &entry))
                return false;
            if (entry.number == FEATURES_ENTRY && entry.wire == WIRE_BYTES &&
                !read_entry(entry.bytes, fields, lists, ret_values))
                return false;
        }
    }
    return true;
}
