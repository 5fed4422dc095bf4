/* Pictures as planes, one per channel (CHW): the output of the operator `to_chw`, for an
 * operator before it that can write planes at once. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_CHW_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_CHW_H

#include "preprocess/operators/pictures/picture.h"

extern const struct preprocess_operator preprocess_operator_to_chw;
/* The column as planes. */
struct column_about preprocess_chw_about(const struct column_about *about);
/* Pixels of three channels into three planes, end to end. */
void preprocess_chw_split(const uint8_t *from, size_t pixels, uint8_t *restrict to);

#endif
