/* Lines of text formats: where one ends, and whether an erased one is left. */
#ifndef WEIR_STORAGE_FORMATS_LINES_H
#define WEIR_STORAGE_FORMATS_LINES_H

#include "core/base/bytes.h"

#include <string.h>

/* Bytes of the mark of UTF-8 that some programs put in front of a text: 3 or 0. */
static inline size_t format_mark(struct weir_bytes text)
{
    return text.size >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Bytes up to and with the newline, or 0 when the line does not end in `text`. */
static inline size_t format_line(struct weir_bytes text)
{
    const uint8_t *end = text.size > 0 ? memchr(text.at, '\n', text.size) : NULL;

    return end ? (size_t)(end - text.at) + 1 : 0;
}

/* Without "\n" or "\r\n" at its end. */
static inline struct weir_bytes format_chomp(struct weir_bytes line)
{
    if (line.size > 0 && line.at[line.size - 1] == '\n')
        line.size--;
    if (line.size > 0 && line.at[line.size - 1] == '\r')
        line.size--;
    return line;
}

/* Empty, or overwritten by a scrub. */
static inline bool format_is_blank(struct weir_bytes line)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r')
            return false;
    }
    return true;
}

#endif
