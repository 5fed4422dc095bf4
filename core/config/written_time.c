/* Patterns, zones and serial days: see written_time.h. */
#include "core/config/written_time.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t US_PER_SECOND = 1000000;
static const int64_t LEAST_YEAR_US =
    INT64_C(-30610224000000000); /* year 1000: %Y reads the 11 of 1/1/11, too */
static const double SERIAL_MIN = 61, SERIAL_END = 2958466; /* 1900-03-01 and 10000-01-01 */
static const double SERIAL_OF_1970 = 25569, MS_PER_DAY = 86400000;

/* ---- declared ---- */

/* Finds a conversion; %% is none. */
static const char *find(const char *pattern, char conversion)
{
    for (const char *at = strchr(pattern, '%'); at != NULL && at[1] != '\0';
         at = strchr(at + 2, '%')) {
        if (at[1] == conversion)
            return at;
    }
    return NULL;
}

static struct weir_written_pattern pattern_of(const char *text)
{
    const char *fraction = find(text, 'f');
    size_t size = fraction != NULL ? (size_t)(fraction - text) : strlen(text);

    return (struct weir_written_pattern){.text = text,
                                         .before = weir_strndup(text, size),
                                         .after = fraction != NULL ? fraction + 2 : NULL,
                                         .is_zoned = find(text, 'z') != NULL};
}

/* True when strptime() knows its conversions, and a year is among them. */
static bool is_understood(const char *pattern)
{
    static const char KNOWN[] = "aAbBcCdDefFhHIjklmMnprRStTuUVwWxXyYz%", WITH_YEAR[] = "YyDFcx";
    bool has_year = false;

    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || strchr(KNOWN, at[1]) == NULL)
            return false;
        has_year = has_year || strchr(WITH_YEAR, at[1]) != NULL;
    }
    return has_year;
}

/* Returns what is expected where hours of a half of the day are read without the half, or the half for nothing:
 * strptime() would put times half a day off. */
static const char *halves_of_days(const char *pattern)
{
    bool has_half = find(pattern, 'p') != NULL;
    bool has_hour = find(pattern, 'I') != NULL || find(pattern, 'l') != NULL;

    if (find(pattern, 'r') != NULL || has_half == has_hour)
        return NULL;
    return has_half ? "%I beside %p: %H counts to 23, and does not heed it"
                    : "%p beside %I, or %H for hours up to 23";
}

static enum weir_status add(struct weir_written_time *written, const struct weir_yaml_node *node,
                            const char *path, struct weir_error *err)
{
    const char *text = weir_yaml_text(node);

    if (text == NULL || *text == '\0' || written->count == WEIR_WRITTEN_PATTERNS_MAX)
        return weir_yaml_fail(
            node, err, "%s.pattern: expected a text such as \"%%d/%%m/%%Y %%H:%%M\", or up to %d",
            path, WEIR_WRITTEN_PATTERNS_MAX);
    written->pattern[written->count++] = pattern_of(text);
    if (find(text, 's') != NULL || find(text, 'Z') != NULL)
        return weir_yaml_fail(node, err, "%s.pattern: found '%s', expected %s", path, text,
                              find(text, 's') != NULL
                                  ? "no %s: a number since 1970 needs unit, and no pattern"
                                  : "no %Z: strptime() ignores names of zones; say zone, or read "
                                    "an offset by %z");
    if (is_understood(text) && halves_of_days(text) == NULL)
        return WEIR_OK;
    if (is_understood(text))
        return weir_yaml_fail(node, err, "%s.pattern: found '%s', expected %s", path, text,
                              halves_of_days(text));
    return weir_yaml_fail(node, err,
                          "%s.pattern: found '%s', expected the conversions of strptime() with a "
                          "year among them (%%Y, %%y), and %%f for a fraction of a second",
                          path, text);
}

enum weir_status weir_written_time_declared(struct weir_written_time *written,
                                            const struct weir_yaml_node *pattern,
                                            const struct weir_yaml_node *zone, const char *path,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (pattern != NULL && (weir_yaml_is_scalar(pattern) || weir_yaml_length(pattern) == 0))
        status = add(written, pattern, path, err);
    else
        for (size_t i = 0; status == WEIR_OK && i < weir_yaml_length(pattern); i++)
            status = add(written, weir_yaml_at(pattern, i), path, err);
    if (status != WEIR_OK || zone == NULL)
        return status;
    written->zone_name = weir_yaml_text(zone);
    if (weir_zone_open(written->zone_name, &written->zone, err) != WEIR_OK) {
        struct weir_error why = *err;

        return weir_yaml_fail(zone, err, "%s.zone: %s", path, why.text);
    }
    return WEIR_OK;
}

void weir_written_time_fini(struct weir_written_time *written)
{
    for (size_t i = 0; i < written->count; i++)
        free(written->pattern[i].before);
    weir_zone_free(written->zone);
    *written = (struct weir_written_time){0};
}

/* ---- read ---- */

/* Reads digits after the point, cut to microseconds. */
static const char *read_fraction(const char *text, int64_t *ret_us)
{
    int64_t unit = US_PER_SECOND / 10;
    const char *at = text;

    for (*ret_us = 0; *at >= '0' && *at <= '9'; at++, unit /= 10)
        *ret_us += (*at - '0') * unit;
    return at != text ? at : NULL;
}

/* Returns the end of what it has read, NULL if the text is not as the pattern. */
static const char *parse(const struct weir_written_pattern *pattern, const char *text,
                         struct tm *ret_fields, int64_t *ret_fraction_us)
{
    const char *end = strptime(text, pattern->before, ret_fields);

    *ret_fraction_us = 0;
    if (end == NULL || pattern->after == NULL)
        return end;
    end = read_fraction(end, ret_fraction_us);
    return end != NULL ? strptime(end, pattern->after, ret_fields) : NULL;
}

/* True when the calendar has the day: there is no 30th of February. */
static bool is_day(const struct tm *fields)
{
    struct tm day = {
        .tm_year = fields->tm_year, .tm_mon = fields->tm_mon, .tm_mday = fields->tm_mday};

    (void)timegm(&day); /* makes it the 1st or 2nd of March */
    return day.tm_mday == fields->tm_mday;
}

static int64_t utc_of(const struct weir_written_time *written, int64_t local_us)
{
    return written->zone != NULL ? weir_zone_to_utc(written->zone, local_us) : local_us;
}

static const char *read_by(const struct weir_written_time *written,
                           const struct weir_written_pattern *pattern, const char *text,
                           int64_t *ret_time_us)
{
    struct tm fields = {.tm_mday = 1};
    int64_t fraction_us, local_us;
    const char *end = parse(pattern, text, &fields, &fraction_us);
    long offset = fields.tm_gmtoff; /* timegm() overwrites it */

    if (end == NULL || !is_day(&fields))
        return NULL;
    local_us = (int64_t)timegm(&fields) * US_PER_SECOND + fraction_us;
    *ret_time_us =
        pattern->is_zoned ? local_us - offset * US_PER_SECOND : utc_of(written, local_us);
    return end;
}

/* RFC 3339, by the clocks of the zone where it names none. */
static bool read_plain(const struct weir_written_time *written, struct weir_bytes text,
                       int64_t *ret_time_us)
{
    bool is_zoned;

    if (!weir_time_parse_zoned((const char *)text.at, text.size, ret_time_us, &is_zoned))
        return false;
    if (!is_zoned)
        *ret_time_us = utc_of(written, *ret_time_us);
    return true;
}

static bool terminate(struct weir_bytes text, char copy[WEIR_WRITTEN_TIME_MAX])
{
    if (text.size == 0 || text.size >= WEIR_WRITTEN_TIME_MAX ||
        memchr(text.at, '\0', text.size) != NULL)
        return false;
    memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    return true;
}

bool weir_written_time_read(const struct weir_written_time *written, struct weir_bytes text,
                            int64_t *ret_time_us)
{
    char copy[WEIR_WRITTEN_TIME_MAX];

    if (written->count == 0)
        return read_plain(written, text, ret_time_us);
    if (!terminate(text, copy))
        return false;
    for (size_t i = 0; i < written->count; i++) {
        const char *end = read_by(written, &written->pattern[i], copy, ret_time_us);

        if (end != NULL && *end == '\0')
            return true;
    }
    return false;
}

bool weir_written_time_has_form(const struct weir_written_time *written, struct weir_bytes text)
{
    char first[WEIR_WRITTEN_TIME_MAX];
    int64_t time_us;

    if (!terminate(text, first))
        return false;
    for (char *at = first; *at != '\0';) {
        size_t digits = strspn(at, "0123456789");

        if (digits == 1 || digits == 2)
            memcpy(at, digits == 1 ? "1" : "01", digits);
        at += digits > 0 ? digits : 1;
    }
    return weir_written_time_read(written, weir_bytes(first, strlen(first)), &time_us);
}

bool weir_written_time_of_path(const struct weir_written_time *written, const char *path,
                               int64_t *ret_time_us)
{
    const char *name = weir_path_name(path);

    for (size_t i = 0; i < written->count; i++) {
        const struct weir_written_pattern *pattern = &written->pattern[i];
        bool is_name = strchr(pattern->text, '/') == NULL;

        if (read_by(written, pattern, is_name ? name : path, ret_time_us) != NULL)
            return true;
    }
    return false;
}

/* ---- numbers ---- */

const char *const WEIR_TIME_UNITS[] = {"s", "ms", "us", "ns", "excel", NULL};

/* Microseconds in a unit, as a fraction. */
static const struct {
    int64_t times, over;
} UNITS[] = {[WEIR_TIME_SECONDS] = {1000000, 1},
             [WEIR_TIME_MS] = {1000, 1},
             [WEIR_TIME_US] = {1, 1},
             [WEIR_TIME_NS] = {1, 1000}};

int64_t weir_time_unit_us(enum weir_time_unit unit)
{
    weir_require(unit <= WEIR_TIME_US);
    return UNITS[unit].times;
}

bool weir_written_time_of_integer(int64_t number, enum weir_time_unit unit, int64_t *ret_time_us)
{
    if (unit == WEIR_TIME_SERIAL_DAYS)
        return false;
    bool is_over = __builtin_mul_overflow(number, UNITS[unit].times, ret_time_us);

    *ret_time_us = weir_divide_down(*ret_time_us, UNITS[unit].over);
    return !is_over;
}

static bool of_serial(const struct weir_written_time *written, double days, int64_t *ret_time_us)
{
    if (!(days >= SERIAL_MIN) || days >= SERIAL_END)
        return false;
    *ret_time_us = utc_of(written, llround((days - SERIAL_OF_1970) * MS_PER_DAY) * 1000);
    return true;
}

bool weir_written_time_of_real(const struct weir_written_time *written, double number,
                               enum weir_time_unit unit, int64_t *ret_time_us)
{
    static const double TIME_MAX = 9e18;

    if (unit == WEIR_TIME_SERIAL_DAYS)
        return of_serial(written, number, ret_time_us);
    number = number * (double)UNITS[unit].times / (double)UNITS[unit].over;
    if (!(fabs(number) <= TIME_MAX))
        return false;
    *ret_time_us = (int64_t)llround(number);
    return true;
}

int64_t weir_written_time_ahead_us(const struct weir_written_time *written, int64_t utc_us)
{
    return written->zone != NULL ? weir_zone_offset_us(written->zone, utc_us) : 0;
}

/* ---- hints ---- */

const char *const WEIR_WRITTEN_USUAL[] = {"%Y-%m-%d %H:%M",
                                          "%Y-%m-%dT%H:%M",
                                          "%d/%m/%Y",
                                          "%m/%d/%Y",
                                          "%d/%m/%Y %H:%M",
                                          "%m/%d/%Y %H:%M",
                                          "%d/%m/%Y %H:%M:%S",
                                          "%m/%d/%Y %H:%M:%S",
                                          "%m/%d/%Y %I:%M %p",
                                          "%m/%d/%Y %I:%M:%S %p",
                                          "%d/%m/%y",
                                          "%m/%d/%y",
                                          "%d/%m/%y %H:%M",
                                          "%m/%d/%y %H:%M",
                                          "%d.%m.%Y",
                                          "%d.%m.%Y %H:%M",
                                          "%d.%m.%Y %H:%M:%S",
                                          "%Y/%m/%d",
                                          "%Y/%m/%d %H:%M",
                                          "%Y/%m/%d %H:%M:%S",
                                          "%d-%m-%Y",
                                          "%d-%m-%Y %H:%M",
                                          "%d-%b-%Y",
                                          "%d-%b-%Y %H:%M:%S",
                                          "%d-%b-%Y %H:%M:%S %z",
                                          "%d/%b/%Y:%H:%M:%S %z",
                                          "%b %d, %Y",
                                          "%d %b %Y",
                                          "%Y-%m-%d %H:%M:%S %z",
                                          "%Y-%m-%dT%H:%M:%S%z",
                                          "%Y%m%d",
                                          "%Y%m%d%H%M%S",
                                          "%a %b %d %H:%M:%S %Y",
                                          "%a, %d %b %Y %H:%M:%S %z",
                                          "%Y-%m",
                                          NULL};

bool weir_written_time_as(const char *pattern, struct weir_bytes text, int64_t *ret_time_us)
{
    struct weir_written_time written = {.pattern = {pattern_of(pattern)}, .count = 1};
    int64_t time_us;
    bool is_read = weir_written_time_read(&written, text, &time_us) && time_us >= LEAST_YEAR_US;

    weir_written_time_fini(&written);
    if (is_read)
        *ret_time_us = time_us;
    return is_read;
}

/* Digits alone count seconds since 1970, unless there are as many as a day or a second of a calendar has: a pattern
 * reads them, but as a time that nobody wrote. */
static bool is_count(struct weir_bytes text)
{
    size_t digits = 0;

    while (digits < text.size && text.at[digits] >= '0' && text.at[digits] <= '9')
        digits++;
    return digits == text.size && digits != 8 && digits != 14;
}

void weir_written_time_suggest(struct weir_bytes text, struct weir_buf *out)
{
    enum { SUGGESTED_MAX = 2 };
    size_t found = 0;
    int64_t time_us;

    if (is_count(text) && text.size > 0) {
        weir_buf_append_text(out, "; time.unit, without a pattern, reads numbers since 1970");
        return;
    }
    for (const char *const *pattern = WEIR_WRITTEN_USUAL; *pattern != NULL; pattern++)
        if (found < SUGGESTED_MAX && weir_written_time_as(*pattern, text, &time_us))
            weir_buf_printf(out, "%s\"%s\"", found++ == 0 ? "; time.pattern may be " : " or ",
                            *pattern);
}
