/* Numbers out of text, the same on any machine and in any locale. */
#ifndef WEIR_PREPROCESS_OPERATORS_NUMBER_H
#define WEIR_PREPROCESS_OPERATORS_NUMBER_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* Decimal or scientific notation in less than 64 bytes, blanks around it allowed; true and false are 1
 * and 0. False for anything else, infinities and NaN included. */
bool number_read(struct weir_bytes text, double *ret_value);

/* The same as f32; false for what f32 would hold as infinite. */
bool number_read_f32(struct weir_bytes text, float *ret_value);

/* As number_read(), for what stands in the place of a missing number: NaN, written nan, is one. */
bool number_read_fill(const char *text, double *ret_value);

/* The option `name` of an operator; absent (NULL) it leaves `*value` as it is. INVALID when it is no
 * number. */
enum weir_status number_read_option(const char *name, const char *text, double *value,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
