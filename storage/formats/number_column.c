/* One field of many equal records: the loop is inside the choice of the type. */
#include "storage/formats/format.h"

#include <string.h>

typedef void load_fn(const uint8_t *at, size_t stride, size_t count, int64_t *values);

/* A loop over little-endian numbers of one type. */
#define LOADER(name, type)                                                            \
    static void name(const uint8_t *at, size_t stride, size_t count, int64_t *values) \
    {                                                                                 \
        for (size_t i = 0; i < count; i++) {                                          \
            type number;                                                              \
                                                                                      \
            memcpy(&number, at + i * stride, sizeof(number));                         \
            values[i] = (int64_t)number;                                              \
        }                                                                             \
    }
LOADER(load_i8, int8_t)
LOADER(load_u8, uint8_t)
LOADER(load_i16, int16_t)
LOADER(load_u16, uint16_t)
LOADER(load_i32, int32_t)
LOADER(load_u32, uint32_t)
LOADER(load_64, int64_t)

static int64_t bits_of(double real)
{
    int64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static void load_f32(const uint8_t *at, size_t stride, size_t count, int64_t *values)
{
    for (size_t i = 0; i < count; i++) {
        float number;

        memcpy(&number, at + i * stride, sizeof(number));
        values[i] = bits_of((double)number);
    }
}

/* NULL where a value may be none: u64 may be beyond, reals have fractions. */
static load_fn *const INTEGERS[FORMAT_TYPES] = {
    [FORMAT_I8] = load_i8,   [FORMAT_U8] = load_u8,   [FORMAT_I16] = load_i16,
    [FORMAT_U16] = load_u16, [FORMAT_I32] = load_i32, [FORMAT_U32] = load_u32,
    [FORMAT_I64] = load_64,
};
static load_fn *const REALS[FORMAT_TYPES] = {[FORMAT_F32] = load_f32, [FORMAT_F64] = load_64};

static bool load(load_fn *const *loaders, const struct format_field *field,
                 const struct format_records *records, int64_t *values)
{
    if (field->from != FORMAT_AT || field->count > 0 || records->order == FORMAT_BIG ||
        loaders[field->type] == NULL)
        return false;
    loaders[field->type](records->at + field->offset, records->length, records->count, values);
    return true;
}

bool storage_format_column_integers(const struct format_field *field,
                                    const struct format_records *records, int64_t *values)
{
    return load(INTEGERS, field, records, values);
}

bool storage_format_column_reals(const struct format_field *field,
                                 const struct format_records *records, int64_t *values)
{
    const uint64_t exponent = UINT64_C(0x7ff) << 52;
    bool is_finite = true;

    if (load(INTEGERS, field, records, values)) {
        for (size_t i = 0; i < records->count; i++)
            values[i] = bits_of((double)values[i]);
        return true;
    }
    if (!load(REALS, field, records, values))
        return false;
    for (size_t i = 0; i < records->count; i++)
        is_finite &= ((uint64_t)values[i] & exponent) != exponent;
    return is_finite;
}
