/* Elements of tensors by their type. */
#include "preprocess/operators/numeric.h"

#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

#include <math.h>

double preprocess_numeric_get(enum weir_dtype type, const void *values, size_t index)
{
    switch (type) {
#define X(name, ctype) \
    case WEIR_##name:  \
        return (double)((const ctype *)values)[index];
        NUMERIC_TYPES(X)
#undef X
    }
    weir_require(false);
}

int64_t preprocess_numeric_get_integer(enum weir_dtype type, const void *values, size_t index)
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

static double bounded(double value, double min, double max)
{
    if (isnan(value))
        return 0;
    return value < min ? min : value > max ? max : value;
}

void preprocess_numeric_put(enum weir_dtype type, void *values, size_t index, double value)
{
    switch (type) {
    case WEIR_U8:
        ((uint8_t *)values)[index] = (uint8_t)bounded(value, 0, UINT8_MAX);
        return;
    case WEIR_I32:
        ((int32_t *)values)[index] = (int32_t)bounded(value, INT32_MIN, INT32_MAX);
        return;
    case WEIR_I64: /* the largest double below 2^63 */
        ((int64_t *)values)[index] =
            (int64_t)bounded(value, (double)INT64_MIN, 0x1.fffffffffffffp62);
        return;
    case WEIR_F32:
        ((float *)values)[index] = (float)value;
        return;
    case WEIR_F64:
        ((double *)values)[index] = value;
        return;
    case WEIR_U32:
        ((uint32_t *)values)[index] = (uint32_t)bounded(value, 0, UINT32_MAX);
        return;
    }
    weir_require(false);
}

enum weir_status preprocess_numeric_read_option(enum weir_dtype type, const char *name,
                                                const char *text, union numeric *ret_value,
                                                struct weir_error *err)
{
    double value = 0;
    enum weir_status status = preprocess_number_read_option(name, text, &value, err);
    if (status != WEIR_OK)
        return status;
    preprocess_numeric_put(type, ret_value, 0, value);
    bool is_exact = preprocess_numeric_get(type, ret_value, 0) == value;
    if ((OPERATOR_FLOATS & 1 << type) == 0 && !is_exact)
        return weir_fail(err, WEIR_INVALID, "%s '%s', expected one that %s can hold", name, text,
                         weir_dtype_name(type));
    return WEIR_OK;
}
