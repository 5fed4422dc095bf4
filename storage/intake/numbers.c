/* Numbers out of values: see numbers.h. */
#include "storage/intake/numbers.h"

#include "storage/formats/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For the parsers of the C library, which want an end; false when no number is as long, or as short. */
static bool terminate(struct weir_bytes text, char digits[STORAGE_NUMBER_MAX])
{
    if (text.size == 0 || text.size >= STORAGE_NUMBER_MAX)
        return false;
    memcpy(digits, text.at, text.size);
    digits[text.size] = '\0';
    errno = 0;
    return strpbrk(digits, "xX") == NULL; /* hexadecimal is not what people mean */
}

static bool parse_number(struct weir_bytes text, double *ret_number)
{
    char digits[STORAGE_NUMBER_MAX];
    char *end;

    text = storage_value_trim(text);
    if (!terminate(text, digits))
        return false;
    *ret_number = strtod(digits, &end);
    return end == digits + text.size && errno == 0 && isfinite(*ret_number);
}

/* 1.0 is an integer, too: tables are written so where the column had a hole. */
static bool parse_integer(struct weir_bytes text, int64_t *ret_number)
{
    char digits[STORAGE_NUMBER_MAX];
    char *end;

    if (storage_format_plain_integer_of(text, ret_number))
        return true;
    text = storage_value_trim(text);
    if (!terminate(text, digits))
        return false;
    *ret_number = strtoll(digits, &end, 10);
    if (end > digits && *end == '.')
        end += 1 + strspn(end + 1, "0");
    return end > digits && end == digits + text.size && errno == 0;
}

static bool is_whole(const struct format_value *value)
{
    return value->kind == FORMAT_INT || value->kind == FORMAT_TRUTH;
}

bool storage_intake_integer(const struct format_value *value, int64_t *ret_number)
{
    if (is_whole(value))
        *ret_number = value->i64;
    else if (value->kind == FORMAT_UINT && value->u64 <= INT64_MAX)
        *ret_number = (int64_t)value->u64;
    else if (value->kind == FORMAT_REAL && fabs(value->f64) < 9e15 &&
             floor(value->f64) == value->f64)
        *ret_number = (int64_t)value->f64;
    else
        return value->kind == FORMAT_TEXT && parse_integer(value->text, ret_number);
    return true;
}

bool storage_intake_real(const struct format_value *value, double *ret_number)
{
    if (is_whole(value))
        *ret_number = (double)value->i64;
    else if (value->kind == FORMAT_UINT)
        *ret_number = (double)value->u64;
    else if (value->kind == FORMAT_REAL)
        *ret_number = value->f64;
    else
        return value->kind == FORMAT_TEXT && parse_number(value->text, ret_number);
    return isfinite(*ret_number);
}

bool storage_intake_has_comma(const struct format_value *value)
{
    char text[STORAGE_NUMBER_MAX], *comma;
    double number;

    if (value->kind != FORMAT_TEXT || !terminate(value->text, text))
        return false;
    comma = strchr(text, ',');
    if (comma == NULL)
        return false;
    *comma = '.';
    return parse_number(weir_bytes(text, value->text.size), &number);
}
