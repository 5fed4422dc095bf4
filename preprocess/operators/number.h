/* Numbers out of text, the same on any machine and in any locale. */
#ifndef WEIR_PREPROCESS_OPERATORS_NUMBER_H
#define WEIR_PREPROCESS_OPERATORS_NUMBER_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { NUMBER_TEXT_MAX = 64 };

/* Decimal or scientific notation in less than 64 bytes, blanks around it allowed; true and false are 1
 * and 0. False for anything else, infinities and NaN included. */
bool preprocess_number_read(struct weir_bytes text, double *ret_value);

/* The same as f32; false for what f32 would hold as infinite. */
bool preprocess_number_read_f32(struct weir_bytes text, float *ret_value);

/* The number that takes the place of a missing one. */
struct number_fill {
    bool is_given; /* false: a missing number is a failure of its row */
    float value;
};

/* The option `fill` of an operator, NULL when absent: a number that f32 can hold, or nan. INVALID for anything else. */
enum weir_status preprocess_number_fill_option(const char *text, struct number_fill *ret_fill,
                                               struct weir_error *err) WEIR_MUST_USE;

/* The option `name` of an operator; absent (NULL) it leaves `*value` as it is. INVALID when it is no
 * number. */
enum weir_status preprocess_number_read_option(const char *name, const char *text, double *value,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
