/* UTF-8 in and out. */
#include "core/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Bytes of a character that begins with this one; 0: none does. */
static inline size_t size_of(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Well-formed sequences (Unicode 15, table 3-7), stated once; in line, because it is the way of most text. */
static inline size_t character(struct weir_bytes text)
{
    uint8_t first = text.size > 0 ? text.at[0] : 0xff;
    uint8_t lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t size = size_of(first);
    if (size > text.size)
        return 0;
    if (size > 1 && (text.at[1] < lowest || text.at[1] > highest))
        return 0;
    for (size_t i = 2; i < size; i++) {
        if ((text.at[i] & 0xc0) != 0x80)
            return 0;
    }
    return size;
}

size_t weir_utf8_character(struct weir_bytes text)
{
    return character(text);
}

size_t weir_utf8_whole(struct weir_bytes text)
{
    size_t at = 0, size = 1;
    while (at < text.size && size > 0) {
        size = character(weir_bytes(text.at + at, text.size - at));
        at += size;
    }
    return at;
}

size_t weir_utf8_cut(struct weir_bytes text, size_t size_max)
{
    if (text.size <= size_max)
        return text.size;
    size_t size = size_max;
    while (size > 0 && (text.at[size] & 0xc0) == 0x80)
        size--;
    return size;
}

void weir_utf8_shorten(struct weir_buf *text, size_t size_max)
{
    if (text->size <= size_max)
        return;
    text->size = weir_utf8_cut(weir_buf_view(text), size_max);
    weir_buf_append_text(text, "…");
}

void weir_utf8_repair(char *text)
{
    struct weir_bytes rest = weir_bytes_of(text);
    while (rest.size > 0) {
        size_t size = character(rest);
        if (size == 0) {
            *text = '?';
            size = 1;
        }
        text += size;
        rest = weir_bytes(rest.at + size, rest.size - size);
    }
}

bool weir_utf8_is_utf16(struct weir_bytes head)
{
    enum { LOOKED_AT = 16 };
    size_t even = 0, odd = 0;

    if (head.size >= 2 &&
        (memcmp(head.at, "\xff\xfe", 2) == 0 || memcmp(head.at, "\xfe\xff", 2) == 0))
        return true;
    if (head.size < LOOKED_AT)
        return false;
    for (size_t i = 0; i < LOOKED_AT; i++) {
        even += head.at[i] == 0 && i % 2 == 0 ? 1 : 0;
        odd += head.at[i] == 0 && i % 2 == 1 ? 1 : 0;
    }
    return even + odd == LOOKED_AT / 2 && (even == 0 || odd == 0);
}

/* Bytes of a character that begins in `text` and does not end there: a piece that a cut has left. */
static size_t begun(struct weir_bytes text)
{
    for (size_t back = 1; back <= 3 && back <= text.size; back++) {
        uint8_t byte = text.at[text.size - back];
        if ((byte & 0xc0) != 0x80)
            return size_of(byte) > back ? back : 0;
    }
    return 0;
}

void weir_utf8_print_list(char *at, size_t size, const char *format, va_list args)
{
    int wanted = vsnprintf(at, size, format, args);
    if (wanted >= 0 && (size_t)wanted >= size)
        at[size - 1 - begun(weir_bytes(at, size - 1))] = '\0';
    weir_utf8_repair(at);
}

void weir_utf8_print(char *at, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    weir_utf8_print_list(at, size, format, args);
    va_end(args);
}

/* Bytes of the maximal ill-formed piece in front: as many as a character could begin with, by trying. */
static size_t ill_formed(struct weir_bytes bytes)
{
    for (size_t taken = bytes.size < 3 ? bytes.size : 3; taken > 1; taken--) {
        uint8_t begun[4] = {0x80, 0x80, 0x80, 0x80};
        memcpy(begun, bytes.at, taken);
        if (weir_utf8_character(weir_bytes(begun, sizeof(begun))) > taken)
            return taken;
    }
    return 1;
}

uint32_t weir_utf8_decode(struct weir_bytes bytes, size_t *ret_size)
{
    const uint8_t *at = bytes.at;
    *ret_size = 1;
    if (at[0] < 0x80)
        return at[0];
    size_t size = character(bytes);
    if (size == 0) {
        *ret_size = ill_formed(bytes);
        return WEIR_UTF8_REPLACEMENT;
    }
    *ret_size = size;
    uint32_t code = (at[0] & (0x7fu >> size)) << 6 | (at[1] & 0x3fu);
    for (size_t i = 2; i < size; i++)
        code = code << 6 | (at[i] & 0x3fu);
    return code;
}

size_t weir_utf8_encode(uint32_t code, uint8_t *at)
{
    if (code < 0x80) {
        at[0] = (uint8_t)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        at[i] = (uint8_t)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    at[0] = (uint8_t)(0xf00 >> size | code); /* 110…, 1110…, 11110… */
    return size;
}
