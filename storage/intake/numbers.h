/* Values of any kind as numbers, if they are such. */
#ifndef WEIR_STORAGE_INTAKE_NUMBERS_H
#define WEIR_STORAGE_INTAKE_NUMBERS_H

#include "storage/formats/format.h"

bool storage_intake_integer(const struct format_value *value, int64_t *ret_number);
/* Finite numbers alone. */
bool storage_intake_real(const struct format_value *value, double *ret_number);
/* True for a text that is a number but for its decimal comma. */
bool storage_intake_has_comma(const struct format_value *value);

#endif
