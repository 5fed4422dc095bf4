/* Integers and the order of numbers. */
#include "core/base/number.h"

#include <stdint.h>

int64_t weir_divide_down(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

int weir_order_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

int weir_order_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}
