/* UTF-8 in and out, for bytes that may be anything. */
#ifndef WEIR_PREPROCESS_OPERATORS_UTF8_H
#define WEIR_PREPROCESS_OPERATORS_UTF8_H

#include "core/base/bytes.h"

enum { UTF8_REPLACEMENT = 0xfffd };

/* Decodes one code point at the front of `bytes` (not empty) and says how many bytes it took, at
 * least 1. Ill-formed bytes give UTF8_REPLACEMENT, one per maximal ill-formed piece (Unicode 15,
 * section 3.9): overlong forms, surrogates and anything above U+10FFFF are ill-formed. */
uint32_t utf8_decode(struct weir_bytes bytes, size_t *ret_size);
/* Writes 1 … 4 bytes and returns how many. `code` is a code point, no surrogate. */
size_t utf8_encode(uint32_t code, uint8_t *at);

#endif
