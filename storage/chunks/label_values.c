/* Labels that are vectors: see label_values.h. */
#include "storage/chunks/label_values.h"

#include <math.h>
#include <string.h>

uint32_t storage_values_rows(const struct declaration *d, size_t bytes)
{
    size_t row_bytes = storage_declaration_value_bytes(d);

    if (row_bytes == 0)
        return UINT32_MAX;
    return row_bytes < bytes ? (uint32_t)(bytes / row_bytes) : 1;
}

static bool put_f32(double number, uint8_t *to)
{
    float value = (float)number;
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    weir_put_u32(to, bits);
    return isfinite(value);
}

static bool put_f64(double number, uint8_t *to)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    weir_put_u64(to, bits);
    return isfinite(number);
}

bool storage_values_pack(const struct declaration *d, const double *numbers, uint8_t *to)
{
    bool is_double = d->value_type == WEIR_F64, are_finite = true;

    for (uint32_t i = 0; i < d->label_width; i++)
        are_finite &= is_double ? put_f64(numbers[i], to + 8 * (size_t)i)
                                : put_f32(numbers[i], to + 4 * (size_t)i);
    return are_finite;
}

bool storage_values_are_finite(const struct declaration *d, struct weir_bytes row)
{
    bool is_double = d->value_type == WEIR_F64, are_finite = true;

    for (uint32_t i = 0; i < d->label_width; i++) { /* all bits of the exponent set: no number */
        if (is_double)
            are_finite &= (~weir_get_u64(row.at + 8 * (size_t)i) & 0x7ff0000000000000) != 0;
        else
            are_finite &= (~weir_get_u32(row.at + 4 * (size_t)i) & 0x7f800000) != 0;
    }
    return are_finite;
}
