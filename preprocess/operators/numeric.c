/* See numeric.h. */
#include "preprocess/operators/numeric.h"

#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

enum weir_status preprocess_numeric_read_option(enum weir_dtype type, const char *name,
                                                const char *text, union numeric *ret_value,
                                                struct weir_error *err)
{
    double value = 0;
    enum weir_status status = preprocess_number_read_option(name, text, &value, err);
    if (status != WEIR_OK)
        return status;
    weir_element_put(type, ret_value, 0, value);
    bool is_exact = weir_element_get(type, ret_value, 0) == value;
    if ((OPERATOR_FLOATS & 1 << type) == 0 && !is_exact)
        return weir_fail(err, WEIR_INVALID, "%s '%s', expected one that %s can hold", name, text,
                         weir_dtype_name(type));
    return WEIR_OK;
}
