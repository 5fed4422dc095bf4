/* Numbers out of text. */
#include "preprocess/operators/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double F32_BEYOND = 0x1.ffffffp127; /* and above: infinite, once it is rounded */

/* Most numbers: a sign, digits, a point. Up to 2^53 in all digits and 22 of them after the point both
 * parts are exact doubles, so that one division rounds as strtod() does (Clinger, 1990). */
static bool read_short(struct weir_bytes text, double *ret_value)
{
    static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool is_negative = text.at[0] == '-';
    uint64_t digits = 0;
    size_t count = 0, behind = 0, points = 0;
    for (size_t i = is_negative; i < text.size; i++) {
        unsigned digit = text.at[i] - (unsigned)'0';
        bool is_point = text.at[i] == '.';
        if ((digit > 9 && !is_point) || digits > UINT64_MAX / 16)
            return false;
        points += is_point;
        if (!is_point) {
            digits = 10 * digits + digit;
            count++;
            behind += points;
        }
    }
    if (count == 0 || points > 1 || digits > UINT64_C(1) << 53 || behind >= WEIR_COUNT(TENS))
        return false;
    double value = (double)digits / TENS[behind];
    *ret_value = is_negative ? -value : value;
    return true;
}

bool preprocess_number_read(struct weir_bytes text, double *ret_value)
{
    text = weir_bytes_trim(text);
    if (text.size == 0 || text.size >= NUMBER_TEXT_MAX)
        return false;
    if (read_short(text, ret_value))
        return true;
    if (weir_bytes_equal(text, weir_bytes_of("true")) ||
        weir_bytes_equal(text, weir_bytes_of("false"))) {
        *ret_value = text.at[0] == 't';
        return true;
    }
    /* strtod() takes hexadecimal, "inf" and "nan" as well; no service ever calls setlocale(). */
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] == '\0' || strchr("0123456789+-.eE", text.at[i]) == NULL)
            return false;
    }
    char copy[NUMBER_TEXT_MAX], *end;
    memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    double value = strtod(copy, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

bool preprocess_number_read_f32(struct weir_bytes text, float *ret_value)
{
    double value;
    if (!preprocess_number_read(text, &value) || fabs(value) >= F32_BEYOND)
        return false;
    *ret_value = (float)value;
    return true;
}

enum weir_status preprocess_number_fill_option(const char *text, struct number_fill *ret_fill,
                                               struct weir_error *err)
{
    *ret_fill = (struct number_fill){.is_given = text != NULL, .value = NAN};
    if (text == NULL || weir_str_equal(text, "nan") ||
        preprocess_number_read_f32(weir_bytes_of(text), &ret_fill->value))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "fill '%s', expected a number that f32 can hold, or nan",
                     text);
}

enum weir_status preprocess_number_read_option(const char *name, const char *text, double *value,
                                               struct weir_error *err)
{
    if (text == NULL || preprocess_number_read(weir_bytes_of(text), value))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s '%s', expected a number", name, text);
}
