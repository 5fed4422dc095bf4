/* Strict reading of scalars: a number is the whole text or it is none; units are written out. */
#include "core/config/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit DURATIONS[] = {
    {"w", INT64_C(7) * 24 * 3600 * 1000000},
    {"d", INT64_C(24) * 3600 * 1000000},
    {"h", INT64_C(3600) * 1000000},
    {"m", INT64_C(60) * 1000000},
    {"s", INT64_C(1000000)},
    {"ms", INT64_C(1000)},
    {"us", INT64_C(1)},
    {"week", INT64_C(7) * 24 * 3600 * 1000000},
    {"weeks", INT64_C(7) * 24 * 3600 * 1000000},
    {"day", INT64_C(24) * 3600 * 1000000},
    {"days", INT64_C(24) * 3600 * 1000000},
    {"hour", INT64_C(3600) * 1000000},
    {"hours", INT64_C(3600) * 1000000},
    {"minute", INT64_C(60) * 1000000},
    {"minutes", INT64_C(60) * 1000000},
    {"second", INT64_C(1000000)},
    {"seconds", INT64_C(1000000)},
};

static const struct unit SIZES[] = {
    {"TiB", INT64_C(1) << 40}, {"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20},
    {"KiB", INT64_C(1) << 10}, {"", INT64_C(1)},
};

/* ---- numbers ---- */

static bool is_number_start(const char *text)
{
    return *text == '-' || (*text >= '0' && *text <= '9');
}

static bool parse_i64(const char *text, int64_t *ret_value)
{
    char *end = NULL;
    if (!is_number_start(text))
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    *ret_value = value;
    return true;
}

bool cfg_parse_u64(const char *text, uint64_t *ret_value)
{
    char *end = NULL;
    if (*text == '-' || !is_number_start(text))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    *ret_value = value;
    return true;
}

static bool parse_f64(const char *text, double *ret_value)
{
    char *end = NULL;
    if (!is_number_start(text) && *text != '.')
        return false;
    if (strpbrk(text, "xXnN") != NULL) /* hexadecimal, nan, inf */
        return false;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

/* Digits, then one of the units, after a space if there is one. */
static bool parse_with_unit(const char *text, const struct unit *units, size_t count,
                            int64_t *ret_value)
{
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0)
        return false;
    end += *end == ' ' && end[1] != '\0';
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(number, units[i].factor, &value))
            return false;
        *ret_value = value;
        return true;
    }
    return false;
}

bool cfg_parse_duration(const char *text, int64_t *ret_us)
{
    return parse_with_unit(text, DURATIONS, WEIR_COUNT(DURATIONS), ret_us);
}

bool cfg_parse_size(const char *text, uint64_t *ret_bytes)
{
    int64_t bytes;
    if (!parse_with_unit(text, SIZES, WEIR_COUNT(SIZES), &bytes))
        return false;
    *ret_bytes = (uint64_t)bytes;
    return true;
}

/* ---- storing ---- */

static bool has_bounds(const struct cfg_key *key)
{
    return key->min != 0 || key->max != 0;
}

static bool is_within(const struct cfg_key *key, double value)
{
    if (!has_bounds(key))
        return true;
    return value >= key->min && (key->max == 0 || value <= key->max);
}

static bool store_bool(const char *text, bool *member)
{
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0)
        return false;
    *member = is_true;
    return true;
}

static bool store_i64(const struct cfg_key *key, const char *text, int64_t *member)
{
    int64_t value;
    bool is_read =
        key->kind == CFG_KIND_DURATION ? cfg_parse_duration(text, &value) : parse_i64(text, &value);
    if (!is_read || !is_within(key, (double)value))
        return false;
    *member = value;
    return true;
}

static bool store_u64(const struct cfg_key *key, const char *text, uint64_t *member)
{
    uint64_t value;
    bool is_read =
        key->kind == CFG_KIND_SIZE ? cfg_parse_size(text, &value) : cfg_parse_u64(text, &value);
    if (!is_read || !is_within(key, (double)value))
        return false;
    *member = value;
    return true;
}

static bool store_f64(const struct cfg_key *key, const char *text, double *member)
{
    double value;
    if (!parse_f64(text, &value) || !is_within(key, value))
        return false;
    *member = value;
    return true;
}

static bool store_choice(const struct cfg_key *key, const char *text, int *member)
{
    for (int i = 0; key->choices[i] != NULL; i++) {
        if (strcmp(key->choices[i], text) == 0) {
            *member = i;
            return true;
        }
    }
    return false;
}

bool cfg_value_store(const struct cfg_key *key, const char *text, void *member)
{
    switch (key->kind) {
    case CFG_KIND_BOOL:
        return store_bool(text, member);
    case CFG_KIND_I64:
    case CFG_KIND_DURATION:
        return store_i64(key, text, member);
    case CFG_KIND_U64:
    case CFG_KIND_SIZE:
        return store_u64(key, text, member);
    case CFG_KIND_F64:
        return store_f64(key, text, member);
    case CFG_KIND_CHOICE:
        return store_choice(key, text, member);
    case CFG_KIND_TEXT:
        *(const char **)member = text;
        return true;
    case CFG_KIND_TEXTS:
    case CFG_KIND_NODE:
        break;
    }
    weir_require(key->kind <= CFG_KIND_CHOICE);
    return false;
}

/* ---- saying ---- */

static void print_with_unit(int64_t value, const struct unit *units, size_t count,
                            struct weir_buf *out)
{
    size_t i = 0;
    while (i + 1 < count && (value == 0 || value % units[i].factor != 0))
        i++;
    weir_buf_printf(out, "%" PRId64 "%s", value / units[i].factor, units[i].name);
}

void cfg_value_print_duration(int64_t us, struct weir_buf *out)
{
    if (us == 0)
        weir_buf_append_text(out, "0s");
    else
        print_with_unit(us, DURATIONS, WEIR_COUNT(DURATIONS), out);
}

void cfg_value_print_size(uint64_t bytes, struct weir_buf *out)
{
    print_with_unit((int64_t)bytes, SIZES, WEIR_COUNT(SIZES), out);
}

static void print_bound(const struct cfg_key *key, double bound, struct weir_buf *out)
{
    if (key->kind == CFG_KIND_DURATION)
        cfg_value_print_duration((int64_t)bound, out);
    else if (key->kind == CFG_KIND_SIZE)
        cfg_value_print_size((uint64_t)bound, out);
    else
        weir_buf_printf(out, "%.15g", bound);
}

void cfg_value_bounds(const struct cfg_key *key, struct weir_buf *out)
{
    bool from_zero = key->min == 0 && (key->kind == CFG_KIND_U64 || key->kind == CFG_KIND_SIZE ||
                                       key->kind == CFG_KIND_DURATION);
    if (!has_bounds(key)) {
        if (key->kind == CFG_KIND_U64)
            weir_buf_append_text(out, ">= 0");
        return;
    }
    if (key->max == 0 || !from_zero) {
        weir_buf_append_text(out, ">= ");
        print_bound(key, key->min, out);
    }
    if (key->max != 0) {
        weir_buf_append_text(out, from_zero ? "<= " : " and <= ");
        print_bound(key, key->max, out);
    }
}

static void print_choices(const struct cfg_key *key, struct weir_buf *out)
{
    for (size_t i = 0; key->choices[i] != NULL; i++)
        weir_buf_printf(out, "%s%s", i > 0 ? ", " : "", key->choices[i]);
}

void cfg_value_expected(const struct cfg_key *key, struct weir_buf *out)
{
    static const char *const NOUNS[] = {
        [CFG_KIND_BOOL] = "true or false",
        [CFG_KIND_I64] = "an integer",
        [CFG_KIND_U64] = "an integer",
        [CFG_KIND_F64] = "a number",
        [CFG_KIND_TEXT] = "a text",
        [CFG_KIND_DURATION] = "a duration (250ms, 2s, 5m, 1h, 1d, 1w)",
        [CFG_KIND_SIZE] = "a size (512, 64KiB, 16MiB, 2GiB)",
        [CFG_KIND_CHOICE] = "one of: ",
        [CFG_KIND_TEXTS] = "a list of texts",
        [CFG_KIND_NODE] = "a value",
    };
    weir_buf_append_text(out, NOUNS[key->kind]);
    if (key->kind == CFG_KIND_CHOICE) {
        print_choices(key, out);
        return;
    }
    WEIR_AUTO_BUF bounds = {0};
    cfg_value_bounds(key, &bounds);
    if (bounds.size > 0)
        weir_buf_printf(out, " %s", weir_buf_text(&bounds));
}
