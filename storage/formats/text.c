/* Values and names as text: see text.h. */
#include "storage/formats/text.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Digits from the end of `scratch` on: this is done for every sample. */
static struct weir_bytes decimal(uint64_t number, bool is_negative, char *scratch)
{
    char *end = scratch + STORAGE_NUMBER_MAX, *at = end;

    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (is_negative)
        *--at = '-';
    return weir_bytes(at, (size_t)(end - at));
}

struct weir_bytes storage_value_text(const struct format_value *value, char *scratch)
{
    uint64_t magnitude = value->i64 < 0 ? -(uint64_t)value->i64 : (uint64_t)value->i64;

    if (value->kind == FORMAT_TEXT)
        return value->text;
    if (value->kind == FORMAT_INT || value->kind == FORMAT_TRUTH)
        return decimal(magnitude, value->i64 < 0, scratch);
    if (value->kind == FORMAT_UINT)
        return decimal(value->u64, false, scratch);
    if (value->kind == FORMAT_REAL)
        return weir_bytes(scratch,
                          (size_t)snprintf(scratch, STORAGE_NUMBER_MAX, "%.17g", value->f64));
    return weir_bytes(scratch, 0);
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

struct weir_bytes storage_value_trim(struct weir_bytes text)
{
    while (text.size > 0 && is_blank(text.at[0]))
        text = weir_bytes(text.at + 1, text.size - 1);
    while (text.size > 0 && is_blank(text.at[text.size - 1]))
        text.size--;
    return text;
}

/* Nor what moves text about on a screen: marks of direction and of lines. */
static bool is_plain(uint32_t code)
{
    return code >= 0x20 && (code < 0x7f || code > 0x9f) && code != 0x200e && code != 0x200f &&
           (code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069) && code != 0xfeff;
}

char *storage_printable(const char *text)
{
    char *copy = weir_strdup(text);
    size_t size;

    for (char *at = copy; *at; at += size) {
        struct weir_bytes rest = weir_bytes_of(at);
        bool is_whole = weir_utf8_character(rest) > 0;
        uint32_t code = weir_utf8_decode(rest, &size);

        if (!is_whole || !is_plain(code))
            memset(at, '?', size);
    }
    return copy;
}
