/* Elements of tensors by their type: for operators that take numbers of any kind. */
#ifndef WEIR_PREPROCESS_OPERATORS_NUMERIC_H
#define WEIR_PREPROCESS_OPERATORS_NUMERIC_H

#include "core/base/error.h"
#include "core/wire/tensor.h"

#include <stdint.h>

/* X(element type, C type). */
// clang-format off
#define NUMERIC_TYPES(X) \
    X(U8, uint8_t) X(I32, int32_t) X(I64, int64_t) X(F32, float) X(F64, double) X(U32, uint32_t)
// clang-format on

/* A number of one of the types: filled by preprocess_numeric_put(…, &number, 0, …). */
union numeric {
#define X(name, ctype) ctype name;
    NUMERIC_TYPES(X)
#undef X
};

/* Element `index` as a double: 64-bit integers beyond 2^53 are rounded. */
double preprocess_numeric_get(enum weir_dtype type, const void *values, size_t index);
/* The element as an integer; `type` is one of the integers. */
int64_t preprocess_numeric_get_integer(enum weir_dtype type, const void *values, size_t index);
/* Stores the nearest number that the type can hold; NaN becomes 0 in integers. */
void preprocess_numeric_put(enum weir_dtype type, void *values, size_t index, double value);

/* The option `name` of an operator, in the type of its column. INVALID when it is no number, or one that a column
 * of integers cannot hold: it would be another number in the data. */
enum weir_status preprocess_numeric_read_option(enum weir_dtype type, const char *name,
                                                const char *text, union numeric *ret_value,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
