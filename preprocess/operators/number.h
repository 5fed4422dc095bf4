/* Numbers out of text, the same on any machine and in any locale. */
#ifndef WEIR_PREPROCESS_OPERATORS_NUMBER_H
#define WEIR_PREPROCESS_OPERATORS_NUMBER_H

#include "core/base/bytes.h"

/* Decimal or scientific notation, blanks around it allowed; true and false are 1 and 0. False for
 * anything else, infinities and NaN included. */
bool number_read(struct weir_bytes text, double *ret_value);

/* The same for what stands in the place of a missing number: NaN, written nan, is one. */
bool number_read_fill(const char *text, double *ret_value);

#endif
