/* Little-endian numbers inside records: what the types of `offset:` fields mean. */
#include "storage/formats/format.h"

#include <string.h>

const char *const FORMAT_TYPE_NAMES[] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                         "i64", "u64", "f32", "f64", NULL};
static const uint8_t BYTES[FORMAT_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

size_t format_type_bytes(enum format_type type)
{
    return BYTES[type];
}

static uint64_t load(enum format_type type, const uint8_t *at)
{
    switch (BYTES[type]) {
    case 1:
        return at[0];
    case 2:
        return weir_get_u16(at);
    case 4:
        return weir_get_u32(at);
    default:
        return weir_get_u64(at);
    }
}

static double real32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double real64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

struct format_value format_number(enum format_type type, const uint8_t *at)
{
    uint64_t bits = load(type, at);

    switch (type) {
    case FORMAT_I8:
        return (struct format_value){.kind = FORMAT_INT, .i64 = (int8_t)bits};
    case FORMAT_I16:
        return (struct format_value){.kind = FORMAT_INT, .i64 = (int16_t)bits};
    case FORMAT_I32:
        return (struct format_value){.kind = FORMAT_INT, .i64 = (int32_t)bits};
    case FORMAT_I64:
        return (struct format_value){.kind = FORMAT_INT, .i64 = (int64_t)bits};
    case FORMAT_F32:
        return (struct format_value){.kind = FORMAT_REAL, .f64 = real32((uint32_t)bits)};
    case FORMAT_F64:
        return (struct format_value){.kind = FORMAT_REAL, .f64 = real64(bits)};
    case FORMAT_U8:
    case FORMAT_U16:
    case FORMAT_U32:
    case FORMAT_U64:
    case FORMAT_TYPES:
        break;
    }
    return (struct format_value){.kind = FORMAT_UINT, .u64 = bits};
}
