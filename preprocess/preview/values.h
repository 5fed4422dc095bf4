/* Values of columns as a person reads them, each on one short line. */
#ifndef WEIR_PREPROCESS_PREVIEW_VALUES_H
#define WEIR_PREPROCESS_PREVIEW_VALUES_H

#include "preprocess/operators/column.h"

/* Appends a row: a text in quotes, bytes that are none by their first ones, the first numbers of a tensor with its type
 * and size. */
void preprocess_value_print(const struct column *column, size_t row, struct weir_buf *out);

#endif
