/* Numbers out of text. */
#include "preprocess/operators/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT_MAX = 64 };

static struct weir_bytes trimmed(struct weir_bytes text)
{
    while (text.size > 0 && isspace(text.at[0]) != 0)
        text = weir_bytes(text.at + 1, text.size - 1);
    while (text.size > 0 && isspace(text.at[text.size - 1]) != 0)
        text.size--;
    return text;
}

bool number_read(struct weir_bytes text, double *ret_value)
{
    text = trimmed(text);
    if (text.size == 0 || text.size >= NUMBER_TEXT_MAX)
        return false;
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

bool number_read_fill(const char *text, double *ret_value)
{
    if (!weir_str_equal(text, "nan"))
        return number_read(weir_bytes_of(text), ret_value);
    *ret_value = NAN;
    return true;
}
