/* Numbers inside records: what the types of `offset:` fields mean, and lists in text. */
#include "storage/formats/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_DIGITS_MAX = 18 }; /* they never overflow */

const char *const STORAGE_FORMAT_TYPE_NAMES[] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                                 "i64", "u64", "f32", "f64", NULL};
static const uint8_t BYTES[FORMAT_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

size_t storage_format_type_bytes(enum format_type type)
{
    return BYTES[type];
}

static uint64_t load(enum format_type type, enum format_order order, const uint8_t *at)
{
    switch (BYTES[type]) {
    case 1:
        return at[0];
    case 2:
        return order == FORMAT_BIG ? __builtin_bswap16(weir_get_u16(at)) : weir_get_u16(at);
    case 4:
        return order == FORMAT_BIG ? __builtin_bswap32(weir_get_u32(at)) : weir_get_u32(at);
    default:
        return order == FORMAT_BIG ? __builtin_bswap64(weir_get_u64(at)) : weir_get_u64(at);
    }
}

static double real32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static double real64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static struct format_value number(enum format_type type, enum format_order order, const uint8_t *at)
{
    uint64_t bits = load(type, order, at);

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

static double real_of(struct format_value value)
{
    if (value.kind == FORMAT_REAL)
        return value.f64;
    return value.kind == FORMAT_INT ? (double)value.i64 : (double)value.u64;
}

struct format_value storage_format_numbers(const struct format_field *field,
                                           enum format_order order, const uint8_t *at, double *list)
{
    size_t stride = BYTES[field->type];

    if (field->count == 0)
        return number(field->type, order, at);
    for (size_t i = 0; i < field->count; i++, at += stride)
        list[i] = real_of(number(field->type, order, at));
    return (struct format_value){.kind = FORMAT_LIST, .list = {.at = list, .count = field->count}};
}

enum { DIGITS_MAX = 64 };

static bool is_between(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ';';
}

/* The number at the beginning of `text`; false when there is none. */
static bool take_number(struct weir_bytes *text, double *ret_number)
{
    char digits[DIGITS_MAX];
    size_t size = 0;
    char *end;

    while (size < text->size && !is_between(text->at[size]))
        size++;
    if (size == 0 || size >= sizeof(digits))
        return false;
    memcpy(digits, text->at, size);
    digits[size] = '\0';
    *ret_number = strtod(digits, &end);
    *text = weir_bytes(text->at + size, text->size - size);
    return end == digits + size && isfinite(*ret_number);
}

static struct weir_bytes pass_between(struct weir_bytes text)
{
    while (text.size > 0 && is_between(text.at[0]))
        text = weir_bytes(text.at + 1, text.size - 1);
    return text;
}

bool storage_format_number_of(struct weir_bytes text, double *ret_number)
{
    text = pass_between(text);
    return take_number(&text, ret_number) && pass_between(text).size == 0;
}

struct format_value storage_format_list_of(struct weir_bytes text, double list[FORMAT_LIST_MAX])
{
    const struct format_value as_it_is = {.kind = FORMAT_TEXT, .text = text};
    size_t count = 0;

    if (text.size >= 2 && text.at[0] == '[' && text.at[text.size - 1] == ']')
        text = weir_bytes(text.at + 1, text.size - 2);
    for (text = pass_between(text); text.size > 0; text = pass_between(text)) {
        if (count == FORMAT_LIST_MAX || !take_number(&text, &list[count++]))
            return as_it_is;
    }
    if (count == 0)
        return as_it_is;
    return (struct format_value){.kind = FORMAT_LIST, .list = {.at = list, .count = count}};
}

bool storage_format_plain_integer_of(struct weir_bytes text, int64_t *ret_number)
{
    size_t sign = text.size > 0 && text.at[0] == '-';
    int64_t number = 0;

    if (text.size == sign || text.size - sign > PLAIN_DIGITS_MAX)
        return false;
    for (size_t i = sign; i < text.size; i++) {
        unsigned digit = (unsigned)text.at[i] - '0';

        if (digit > 9)
            return false;
        number = 10 * number + (int64_t)digit;
    }
    *ret_number = sign > 0 ? -number : number;
    return true;
}
