/* UTF-8 in and out. */
#include "core/base/utf8.h"

/* How a sequence that starts with a byte in [first, last] goes on (Unicode 15, table 3-7). */
struct lead {
    uint8_t first, last;
    uint8_t size; /* bytes of the whole sequence */
    uint8_t second_min, second_max;
};

static const struct lead LEADS[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *lead_of(uint8_t byte)
{
    for (size_t i = 0; i < WEIR_COUNT(LEADS); i++) {
        if (byte >= LEADS[i].first && byte <= LEADS[i].last)
            return &LEADS[i];
    }
    return NULL;
}

uint32_t weir_utf8_decode(struct weir_bytes bytes, size_t *ret_size)
{
    uint8_t first = bytes.at[0];
    *ret_size = 1;
    if (first < 0x80)
        return first;
    const struct lead *lead = lead_of(first);
    if (lead == NULL)
        return WEIR_UTF8_REPLACEMENT;
    uint32_t code = first & (0x7fu >> lead->size);
    for (size_t i = 1; i < lead->size; i++) {
        uint8_t min = i == 1 ? lead->second_min : 0x80, max = i == 1 ? lead->second_max : 0xbf;
        if (i >= bytes.size || bytes.at[i] < min || bytes.at[i] > max)
            return WEIR_UTF8_REPLACEMENT;
        code = code << 6 | (bytes.at[i] & 0x3fu);
        *ret_size = i + 1;
    }
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

size_t weir_utf8_character(struct weir_bytes text)
{
    uint8_t first = text.size > 0 ? text.at[0] : 0xff;
    size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint8_t lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || size > text.size)
        return 0;
    if (size > 1 && (text.at[1] < lowest || text.at[1] > highest))
        return 0;
    for (size_t i = 2; i < size; i++) {
        if ((text.at[i] & 0xc0) != 0x80)
            return 0;
    }
    return size;
}
