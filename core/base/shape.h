/* The form of a text without the text: what messages show of a value that may be about a person. */
#ifndef WEIR_BASE_SHAPE_H
#define WEIR_BASE_SHAPE_H

#include "core/base/bytes.h"

enum { WEIR_SHAPE_MAX = 40 };

/* Writes 9 for each digit, A and a for letters, and other printable characters as they are: "2024-1-31 10h" is
 * "9999-9-99 99a". Bytes that are none of these, and quotes, are '?'. What is longer than WEIR_SHAPE_MAX is cut off. */
void weir_shape(struct weir_bytes text, char shape[WEIR_SHAPE_MAX + 1]);

#endif
