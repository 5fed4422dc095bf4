/* Characters of UTF-8 as RFC 3629 allows them. */
#ifndef WEIR_STORAGE_FORMATS_UTF8_H
#define WEIR_STORAGE_FORMATS_UTF8_H

#include "core/base/bytes.h"

/* Bytes of the character that `text` begins with; 0 when none does: cut, longer than needed, a surrogate,
 * beyond U+10FFFF. */
static inline size_t utf8_character(struct weir_bytes text)
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

#endif
