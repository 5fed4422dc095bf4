/* Lines of text. */
#ifndef WEIR_BASE_LINES_H
#define WEIR_BASE_LINES_H

#include "core/base/bytes.h"

/* Size of the byte order mark of UTF-8 that some programs write before a text: 3 or 0. */
static inline size_t weir_text_mark(struct weir_bytes text)
{
    return text.size >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Bytes of the first line with its newline, or 0 when it does not end in `text`. */
static inline size_t weir_line(struct weir_bytes text)
{
    const uint8_t *end = text.size > 0 ? memchr(text.at, '\n', text.size) : NULL;

    return end ? (size_t)(end - text.at) + 1 : 0;
}

/* Without "\n" or "\r\n" at its end. */
static inline struct weir_bytes weir_chomp(struct weir_bytes line)
{
    if (line.size > 0 && line.at[line.size - 1] == '\n')
        line.size--;
    if (line.size > 0 && line.at[line.size - 1] == '\r')
        line.size--;
    return line;
}

/* True for a line that is empty, or blanks alone. */
static inline bool weir_line_is_blank(struct weir_bytes line)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r')
            return false;
    }
    return true;
}

#endif
