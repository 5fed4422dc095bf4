/* Format `tfrecord`: TensorFlow's records, each a serialised tf.train.Example:
 *
 *     length u64 | masked CRC-32C of length u32 | data | masked CRC-32C of data u32
 *
 * A column is a feature, flattened: whole numbers are an Int64List, fractions a FloatList (a float64 is rounded), bytes
 * (u8) one BytesList. Field numbers are those of tensorflow/core/example/{example,feature}.proto. */
#include "core/base/crc32c.h"
#include "core/wire/element.h"
#include "trainer_client/exports/export.h"

#include <string.h>

enum { LENGTH_DELIMITED = 2 }; /* protobuf's wire type of texts, messages and packed lists */
enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

/* ---- the lists of a feature: field 1, packed ---- */

static void append_integers(struct weir_buf *out, enum weir_dtype type, const void *at,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        weir_buf_append_varint(out, (uint64_t)weir_element_get_integer(type, at, i));
}

static void append_floats(struct weir_buf *out, enum weir_dtype type, const void *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)weir_element_get(type, at, i);
        weir_buf_append(out, &value, sizeof(value));
    }
}

static unsigned kind_of(const struct export_column *column)
{
    if (column->type == WEIR_TENSOR_U8)
        return BYTES_LIST;
    return column->type == WEIR_TENSOR_F32 || column->type == WEIR_TENSOR_F64 ? FLOAT_LIST
                                                                              : INT64_LIST;
}

static void append_values(struct weir_buf *out, const struct export_column *column,
                          const struct export_cell *cell)
{
    enum weir_dtype type = (enum weir_dtype)column->type; /* the same numbers */
    size_t count = cell->bytes / trainer_export_type(column->type)->bytes;
    unsigned kind = kind_of(column);

    if (kind == BYTES_LIST)
        weir_buf_append(out, cell->at, cell->bytes);
    else if (kind == FLOAT_LIST)
        append_floats(out, type, cell->at, count);
    else
        append_integers(out, type, cell->at, count);
}

/* ---- messages in each other: each begins with its size, so the sizes are known before the bytes ---- */

static size_t varint_bytes(uint64_t value)
{
    size_t bytes = 1;

    for (; value >= 0x80; value >>= 7)
        bytes++;
    return bytes;
}

/* Bytes of a field, of a number below 16, with so many bytes in it. */
static size_t field_bytes(size_t bytes)
{
    return 1 + varint_bytes(bytes) + bytes;
}

static void begin_field(struct weir_buf *out, unsigned field, size_t bytes)
{
    weir_buf_append_varint(out, field << 3 | LENGTH_DELIMITED);
    weir_buf_append_varint(out, bytes);
}

/* An entry of the map Features.feature: {1: name, 2: {kind: {1: values}}}. */
static void append_entry(struct weir_buf *out, const struct export_column *column,
                         struct weir_bytes values)
{
    size_t list = field_bytes(values.size), feature = field_bytes(list);
    size_t name = strlen(column->name);

    begin_field(out, 1, field_bytes(name) + field_bytes(feature));
    begin_field(out, 1, name);
    weir_buf_append(out, column->name, name);
    begin_field(out, 2, feature);
    begin_field(out, kind_of(column), list);
    begin_field(out, 1, values.size);
    weir_buf_append(out, values.at, values.size);
}

/* An Example: {1: features}. */
static void append_record(struct weir_buf *out, struct weir_bytes features)
{
    size_t bytes = field_bytes(features.size), begin = out->size;

    weir_buf_append_u64(out, bytes);
    weir_buf_append_u32(out, weir_crc32c_masked(weir_bytes(out->at + begin, sizeof(uint64_t))));
    begin = out->size;
    begin_field(out, 1, features.size);
    weir_buf_append(out, features.at, features.size);
    weir_buf_append_u32(out, weir_crc32c_masked(weir_bytes(out->at + begin, bytes)));
}

static void add(struct export *export, const struct export_cell *cells)
{
    weir_buf_clear(&export->row);
    for (size_t i = 0; i < export->column_count; i++) {
        weir_buf_clear(&export->part);
        append_values(&export->part, &export->columns[i], &cells[i]);
        append_entry(&export->row, &export->columns[i], weir_buf_view(&export->part));
    }
    append_record(&export->pending, weir_buf_view(&export->row));
}

const struct export_format trainer_export_tfrecord = {
    .name = "tfrecord",
    .add = add,
    .seal = trainer_export_write_rows,
};
