/* Integers and the order of numbers. */
#include "core/base/number.h"

#include <stdint.h>

int64_t weir_plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

bool weir_can_be_spent(int64_t ns)
{
    return ns >= 0 && ns <= INT64_C(1) << 60;
}

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
