/* Classes of characters, for operators that cut texts into pieces: from the Unicode character database. */
#ifndef WEIR_PREPROCESS_OPERATORS_TEXT_UNICODE_H
#define WEIR_PREPROCESS_OPERATORS_TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum unicode_kind {
    UNICODE_SYMBOL, /* and what is in none of the others */
    UNICODE_LETTER,
    UNICODE_NUMBER,
    UNICODE_PUNCTUATION,
    UNICODE_MARK,    /* non-spacing: an accent for the letter before */
    UNICODE_SPACE,   /* tab and line breaks too */
    UNICODE_CONTROL, /* or not assigned */
};

enum { UNICODE_FOLD_MAX = 4 };

/* `code` is at most 0x10ffff. */
enum unicode_kind preprocess_unicode_kind_of(uint32_t code);
/* The character in lower case, taken apart (NFD), without non-spacing marks: é is e, a mark by itself is
 * nothing. Returns how many characters that is. */
size_t preprocess_unicode_fold(uint32_t code, uint32_t ret_codes[UNICODE_FOLD_MAX]);

#endif
