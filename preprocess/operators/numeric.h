/* Numbers that are options of operators, in the type of a column. */
#ifndef WEIR_PREPROCESS_OPERATORS_NUMERIC_H
#define WEIR_PREPROCESS_OPERATORS_NUMERIC_H

#include "core/wire/element.h"

/* A number of one of the types: filled by weir_element_put(…, &number, 0, …). */
union numeric {
#define X(name, ctype) ctype name;
    WEIR_ELEMENT_TYPES(X)
#undef X
};

/* The option `name` of an operator, in the type of its column. INVALID when it is no number, or one that a column
 * of integers cannot hold: it would be another number in the data. */
enum weir_status preprocess_numeric_read_option(enum weir_dtype type, const char *name,
                                                const char *text, union numeric *ret_value,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
