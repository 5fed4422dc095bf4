/* The choice of the operator `flip`, for an operator before it that can mirror pictures on the way. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_FLIP_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_FLIP_H

#include "preprocess/operators/pictures/resample.h"

extern const struct preprocess_operator preprocess_operator_flip;
/* `state` is that of the operator `flip` at `step`. */
struct mirror preprocess_flip_draw(const void *state, const struct operator_call *call, size_t row,
                                   uint32_t step);

#endif
