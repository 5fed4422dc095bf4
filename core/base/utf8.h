/* UTF-8 in and out, for bytes that may be anything. */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include "core/base/attributes.h"
#include "core/base/bytes.h"

#include <stdarg.h>

enum { WEIR_UTF8_REPLACEMENT = 0xfffd };

/* Decodes one code point at the front of `bytes` (not empty) and says how many bytes it took, at
 * least 1. Ill-formed bytes give WEIR_UTF8_REPLACEMENT, one per maximal ill-formed piece (Unicode 15,
 * section 3.9): overlong forms, surrogates and anything above U+10FFFF are ill-formed. */
uint32_t weir_utf8_decode(struct weir_bytes bytes, size_t *ret_size);
/* Writes 1 … 4 bytes and returns how many. `code` is a code point, no surrogate. */
size_t weir_utf8_encode(uint32_t code, uint8_t *at);
/* Bytes of the character that `text` begins with; 0 when none does, as RFC 3629 has it. */
size_t weir_utf8_character(struct weir_bytes text);
/* Bytes at the front of `text` that are whole characters: all of a well-formed one. */
size_t weir_utf8_whole(struct weir_bytes text);
/* Bytes at the front of `text`, at most `size_max`, that no character goes on after. */
size_t weir_utf8_cut(struct weir_bytes text, size_t size_max);
/* Cuts a text that is longer than `size_max` after a whole character, and appends "…". */
void weir_utf8_shorten(struct weir_buf *text, size_t size_max);
/* Puts '?' in the place of every byte of `text` that belongs to no character. */
void weir_utf8_repair(char *text);
/* True for the beginning of a text in UTF-16: a byte-order mark, or letters of the West with a zero beside each. */
bool weir_utf8_is_utf16(struct weir_bytes head);
/* Prints a text that people or JSON are given into a buffer of fixed size, as snprintf() would: cut after a whole
 * character where it is too long, and repaired. `size` is at least 1. */
WEIR_PRINTF(3, 4) void weir_utf8_print(char *at, size_t size, const char *format, ...);
WEIR_PRINTF(3, 0)
void weir_utf8_print_list(char *at, size_t size, const char *format, va_list args);

#endif
