/* Elements of tensors by their type, one at a time. Inline, so that loops over one type never look at it. */
#ifndef WEIR_WIRE_ELEMENT_H
#define WEIR_WIRE_ELEMENT_H

#include "core/base/error.h"
#include "core/wire/tensor.h"

#include <math.h>
#include <stdint.h>

/* X(element type, C type). */
// clang-format off
#define WEIR_ELEMENT_TYPES(X) \
    X(U8, uint8_t) X(I32, int32_t) X(I64, int64_t) X(F32, float) X(F64, double) X(U32, uint32_t)
// clang-format on

/* Element `index` as a double: 64-bit integers beyond 2^53 are rounded. */
static inline double weir_element_get(enum weir_dtype type, const void *values, size_t index)
{
    switch (type) {
#define X(name, ctype) \
    case WEIR_##name:  \
        return (double)((const ctype *)values)[index];
        WEIR_ELEMENT_TYPES(X)
#undef X
    }
    weir_require(false);
}

/* The element as an integer; `type` is one of the integers. */
static inline int64_t weir_element_get_integer(enum weir_dtype type, const void *values,
                                               size_t index)
{
    switch (type) {
    case WEIR_U8:
        return ((const uint8_t *)values)[index];
    case WEIR_I32:
        return ((const int32_t *)values)[index];
    case WEIR_U32:
        return ((const uint32_t *)values)[index];
    default:
        return ((const int64_t *)values)[index];
    }
}

static inline double weir_element_bounded(double value, double min, double max)
{
    if (isnan(value))
        return 0;
    return value < min ? min : value > max ? max : value;
}

/* Stores the nearest number that the type can hold; NaN becomes 0 in integers. */
static inline void weir_element_put(enum weir_dtype type, void *values, size_t index, double value)
{
    switch (type) {
    case WEIR_U8:
        ((uint8_t *)values)[index] = (uint8_t)weir_element_bounded(value, 0, UINT8_MAX);
        return;
    case WEIR_I32:
        ((int32_t *)values)[index] = (int32_t)weir_element_bounded(value, INT32_MIN, INT32_MAX);
        return;
    case WEIR_I64: /* the largest double below 2^63 */
        ((int64_t *)values)[index] =
            (int64_t)weir_element_bounded(value, (double)INT64_MIN, 0x1.fffffffffffffp62);
        return;
    case WEIR_F32:
        ((float *)values)[index] = (float)value;
        return;
    case WEIR_F64:
        ((double *)values)[index] = value;
        return;
    case WEIR_U32:
        ((uint32_t *)values)[index] = (uint32_t)weir_element_bounded(value, 0, UINT32_MAX);
        return;
    }
    weir_require(false);
}

#endif
