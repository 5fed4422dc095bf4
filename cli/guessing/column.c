/* Counting what values may be: see column.h. */
#include "cli/guessing/column.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/config/csv.h"
#include "core/config/written_time.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT_MAX = 64, DISTINCT_TEXT_MAX = 200 };

static const uint64_t FORMS = (UINT64_C(1) << CLI_GUESS_FORMS_MAX) - 1;
static const int64_t YEAR_1980_S = 315532800, YEAR_2100_S = 4102444800;

void cli_guess_column_init(struct cli_guess_column *column, struct weir_bytes name)
{
    *column = (struct cli_guess_column){
        .name = weir_strndup((const char *)name.at, name.size),
        .marks = json_object(),
        .distinct = json_object(),
        .forms = UINT64_MAX,
    };
    weir_utf8_repair(column->name);
}

void cli_guess_column_fini(struct cli_guess_column *column)
{
    free(column->name);
    free(column->odd);
    json_decref(column->marks);
    json_decref(column->distinct);
}

/* ---- counting ---- */

static bool copy_text(struct weir_bytes value, char *copy, size_t size)
{
    if (value.size >= size || memchr(value.at, '\0', value.size) != NULL)
        return false;
    memcpy(copy, value.at, value.size);
    copy[value.size] = '\0';
    return true;
}

/* Decimal numbers alone, as operators read them: no hexadecimal ones, no nan. */
static bool read_number(const struct cli_guess_column *column, struct weir_bytes value,
                        double *ret_number, bool *ret_has_comma)
{
    char text[NUMBER_TEXT_MAX], *end = NULL, *comma;

    if (!copy_text(value, text, sizeof(text)))
        return false;
    comma =
        column->takes_commas && memchr(text, '.', value.size) == NULL ? strchr(text, ',') : NULL;
    if (comma != NULL)
        *comma = '.';
    if (text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    *ret_has_comma = comma != NULL;
    *ret_number = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret_number);
}

/* Returns what is left of a value without the signs of an amount or a unit before it and behind it. */
static struct weir_bytes without_signs(struct weir_bytes value, bool *ret_has_one)
{
    enum { BEFORE = 4 /* the first ones stand there, too */ };
    static const char *const SIGNS[] = {"$",   "€",   "£",  "¥",  "%",   "°C", "°F", "EUR", "USD",
                                        "GBP", "CHF", "km", "kg", "kWh", "ms", "h",  "m",   "s"};

    for (size_t i = 0; i < WEIR_COUNT(SIGNS); i++) {
        size_t size = strlen(SIGNS[i]);

        if (value.size <= size)
            continue;
        if (memcmp(value.at + value.size - size, SIGNS[i], size) == 0)
            value.size -= size;
        else if (i < BEFORE && memcmp(value.at, SIGNS[i], size) == 0)
            value = weir_bytes(value.at + size, value.size - size);
        else
            continue;
        *ret_has_one = true;
    }
    return weir_bytes_trim(value);
}

/* A number for people: with a sign or a unit, with marks between its digits. */
static bool is_dressed(struct weir_bytes value)
{
    bool has_sign = false, has_mark = false;
    struct weir_bytes rest = without_signs(value, &has_sign);
    size_t digits = 0;

    for (size_t i = 0; i < rest.size; i++) {
        bool is_digit = isdigit(rest.at[i]) != 0;
        bool is_mark = rest.at[i] == ',' || rest.at[i] == '\'' || rest.at[i] == ' ';

        if (!is_digit && !is_mark && rest.at[i] != '.' && (i > 0 || rest.at[i] != '-'))
            return false;
        has_mark = has_mark || (is_mark && digits > 0);
        digits += is_digit;
    }
    return digits > 0 && (has_sign || has_mark);
}

static void add_number(struct cli_guess_column *column, double number)
{
    bool is_first = column->numbers == 0;

    if (is_first || number < column->least)
        column->least = number;
    if (is_first || number > column->greatest)
        column->greatest = number;
    column->sum += number;
    column->squares += number * number;
    column->falls += !is_first && number < column->newest ? 1 : 0;
    column->steps += !is_first && number == column->newest + 1 ? 1 : 0;
    column->newest = number;
    column->integers += number == floor(number) ? 1 : 0;
    column->numbers++;
}

static void add_words(struct cli_guess_column *column, struct weir_bytes value)
{
    bool inside = false;

    for (size_t i = 0; i < value.size; i++) {
        bool is_blank = isspace(value.at[i]) != 0;

        column->words += !is_blank && !inside ? 1 : 0;
        inside = !is_blank;
    }
}

static void add_distinct(struct cli_guess_column *column, struct weir_bytes value)
{
    char text[DISTINCT_TEXT_MAX];
    json_t *met;

    if (!copy_text(value, text, sizeof(text))) {
        column->long_ones++;
        column->has_others = true;
        return;
    }
    met = json_object_get(column->distinct, text);
    if (met != NULL) {
        json_integer_set(met, json_integer_value(met) + 1);
    } else if (json_object_size(column->distinct) == CLI_GUESS_DISTINCT_MAX) {
        column->filled_at = column->filled_at > 0 ? column->filled_at : column->values;
        column->has_others = true;
    } else if (json_object_set_new(column->distinct, text, json_integer(1)) != 0) {
        column->has_others = true; /* no UTF-8 */
    }
}

/* Digits without anything between them are a time only in full: 20020822, 20020822113623. */
static bool may_be_time(struct weir_bytes value, const char *pattern)
{
    size_t digits = 0;

    while (digits < value.size && isdigit(value.at[digits]))
        digits++;
    return digits < value.size || (strcmp(pattern, "%Y%m%d") == 0 && digits == 8) ||
           (strcmp(pattern, "%Y%m%d%H%M%S") == 0 && digits == 14);
}

static bool read_time(size_t form, struct weir_bytes value, int64_t *ret_time_us)
{
    const char *pattern = cli_guess_form_pattern(form);

    if (pattern == NULL)
        return weir_time_parse((const char *)value.at, value.size, ret_time_us);
    return may_be_time(value, pattern) && weir_written_time_as(pattern, value, ret_time_us);
}

static void add_time(struct cli_guess_column *column, struct weir_bytes value)
{
    for (size_t form = 0; column->forms >> form != 0 && form < CLI_GUESS_FORMS_MAX; form++) {
        struct cli_guess_span *span = &column->span[form];
        int64_t time_us;

        if ((column->forms >> form & 1) == 0)
            continue;
        if ((form > 0 && cli_guess_form_pattern(form) == NULL) ||
            !read_time(form, value, &time_us)) {
            column->forms &= ~(UINT64_C(1) << form);
            continue;
        }
        if (column->values == column->marked + 1)
            *span = (struct cli_guess_span){time_us, time_us};
        span->first_us = time_us < span->first_us ? time_us : span->first_us;
        span->last_us = time_us > span->last_us ? time_us : span->last_us;
    }
}

void cli_guess_column_add(struct cli_guess_column *column, struct weir_bytes whole)
{
    struct weir_bytes value = weir_bytes_trim(whole);
    double number;
    bool has_comma;

    if (value.size == 0)
        return;
    column->values++;
    add_words(column, value);
    add_distinct(column, whole); /* blanks around it are part of a class */
    if (cfg_csv_is_blank_word(value)) {
        column->marked++;
        WEIR_AUTO_FREE char *mark = weir_strndup((const char *)value.at, value.size);
        json_object_set_new(column->marks, mark, json_true());
        return;
    }
    if (read_number(column, value, &number, &has_comma)) {
        add_number(column, number);
        column->commas += has_comma ? 1 : 0;
    } else if (is_dressed(value)) {
        column->dressed++;
    }
    bool was_time = column->odd == NULL && (column->forms & FORMS) != 0;
    add_time(column, value);
    if (was_time && (column->forms & FORMS) == 0)
        column->odd = weir_strndup((const char *)value.at,
                                   value.size < DISTINCT_TEXT_MAX ? value.size : DISTINCT_TEXT_MAX);
}

/* ---- what the values are ---- */

const char *cli_guess_form_pattern(size_t form)
{
    if (form == 0)
        return NULL;
    for (size_t i = 0; i < form - 1; i++)
        if (WEIR_WRITTEN_USUAL[i] == NULL)
            return NULL;
    return WEIR_WRITTEN_USUAL[form - 1];
}

size_t cli_guess_column_form(const struct cli_guess_column *column)
{
    if (column->values > column->marked)
        for (size_t form = 0; form < CLI_GUESS_FORMS_MAX; form++)
            if ((column->forms >> form & 1) != 0)
                return form;
    return CLI_GUESS_FORMS_MAX;
}

const char *cli_guess_column_unit(const struct cli_guess_column *column,
                                  struct cli_guess_span *ret_span)
{
    static const struct {
        const char *unit;
        double per_second;
    } UNITS[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};

    if (!cli_guess_column_is_numeric(column))
        return NULL;
    for (size_t i = 0; i < WEIR_COUNT(UNITS); i++) {
        double per = UNITS[i].per_second;

        if (column->least >= (double)YEAR_1980_S * per &&
            column->greatest < (double)YEAR_2100_S * per) {
            *ret_span = (struct cli_guess_span){(int64_t)(column->least / per * 1e6),
                                                (int64_t)(column->greatest / per * 1e6)};
            return UNITS[i].unit;
        }
    }
    return NULL;
}

bool cli_guess_column_ascends(const struct cli_guess_column *column)
{
    struct cli_guess_span span;

    return column->falls == 0 && column->greatest > column->least &&
           cli_guess_column_unit(column, &span) != NULL;
}

bool cli_guess_column_is_numeric(const struct cli_guess_column *column)
{
    return column->numbers > 0 && column->numbers + column->marked == column->values;
}

bool cli_guess_column_is_dressed(const struct cli_guess_column *column)
{
    return column->dressed > 0 &&
           column->dressed + column->numbers + column->marked == column->values;
}

size_t cli_guess_column_distinct(const struct cli_guess_column *column)
{
    return column->has_others ? CLI_GUESS_DISTINCT_MAX : json_object_size(column->distinct);
}

bool cli_guess_column_is_constant(const struct cli_guess_column *column)
{
    return cli_guess_column_distinct(column) <= 1 && !column->has_others;
}
