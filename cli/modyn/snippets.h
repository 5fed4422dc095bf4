/* Python in Modyn's files, recognised by its text and never run. Pure. */
#ifndef CLI_MODYN_SNIPPETS_H
#define CLI_MODYN_SNIPPETS_H

#include "core/base/bytes.h"

/* Returns the form of a function's source: "record", "picture", "text", "floats", "csv", "to_float", "argmax",
 * "sigmoid", "threshold"; "" when it calls anything that the form does not. */
const char *cli_modyn_snippet(const char *source);

/* A record of numbers and categories: count of 4-byte floats, and byte of the first of the 4-byte integers that fill
 * the rest. False where the source does not say. */
bool cli_modyn_snippet_record(const char *source, unsigned *ret_numbers, unsigned *ret_offset);
/* Product of the dimensions in reshape(…); 0: there are none. */
unsigned cli_modyn_snippet_floats(const char *source);

#endif
