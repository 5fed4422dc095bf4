/* Clocks of the system, and calendar time as text. Days are counted in the proleptic Gregorian
 * calendar by eras of 400 years that begin on 1 March, which puts the leap day last. */
#include "core/base/clock.h"

#include "core/base/error.h"
#include "core/base/number.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAYS_PER_ERA = 146097, YEARS_PER_ERA = 400, DAYS_FROM_0000_03_01_TO_1970 = 719468 };

static const int64_t US_PER_SECOND = 1000000;
static const int64_t US_PER_DAY = 86400 * (int64_t)1000000;

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    weir_require(clock_gettime(clock, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t weir_now_ms(void)
{
    return weir_now_ns() / 1000000;
}

int64_t weir_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t weir_now_wall_us(void)
{
    return read_clock_ns(CLOCK_REALTIME) / 1000;
}

int64_t weir_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t weir_cpu_thread_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Remainder of weir_divide_down(), in [0, by). Not value - quotient * by, which may overflow. */
static int64_t remainder_of(int64_t value, int64_t by)
{
    int64_t rest = value % by;
    return rest < 0 ? rest + by : rest;
}

int64_t weir_days_of(struct weir_date date)
{
    int64_t year = date.year - (date.month <= 2); /* years begin in March */
    int64_t era = weir_divide_down(year, YEARS_PER_ERA);
    int64_t year_of_era = year - era * YEARS_PER_ERA;
    int64_t month = date.month + (date.month > 2 ? -3 : 9);
    int64_t day_of_year =
        (153 * month + 2) / 5 + date.day - 1; /* 153 days in any five months from March on */
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_FROM_0000_03_01_TO_1970;
}

struct weir_date weir_date_of(int64_t days)
{
    days += DAYS_FROM_0000_03_01_TO_1970;
    int64_t era = weir_divide_down(days, DAYS_PER_ERA);
    int64_t day_of_era = days - era * DAYS_PER_ERA;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct weir_date date = {.year = era * YEARS_PER_ERA + year_of_era,
                             .month = (int)(month < 10 ? month + 3 : month - 9),
                             .day = (int)(day_of_year - (153 * month + 2) / 5 + 1)};
    date.year += date.month <= 2;
    return date;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int64_t year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return DAYS[month - 1] + (month == 2 && is_leap(year));
}

void weir_time_format(int64_t time_us, char *text)
{
    int64_t days = weir_divide_down(time_us, US_PER_DAY);
    int64_t us = remainder_of(time_us, US_PER_DAY);
    int64_t seconds = us / US_PER_SECOND;
    struct weir_date date = weir_date_of(days);
    int size = snprintf(text, WEIR_TIME_TEXT_MAX, "%s%04lld-%02d-%02dT%02d:%02d:%02d",
                        date.year < 0 ? "-" : "",
                        (long long)(date.year < 0 ? -date.year : date.year), date.month, date.day,
                        (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    int fraction = (int)(us % US_PER_SECOND);
    if (fraction != 0) {
        size += snprintf(text + size, WEIR_TIME_TEXT_MAX - (size_t)size, ".%06d", fraction);
        while (text[size - 1] == '0')
            size--;
    }
    snprintf(text + size, WEIR_TIME_TEXT_MAX - (size_t)size, "Z");
}

struct cursor {
    const char *at;
    const char *end;
};

/* Exactly `digits` digits with a value in [min, max]. */
static bool read_number(struct cursor *in, int digits, int min, int max, int *ret_value)
{
    int value = 0;
    if (in->end - in->at < digits)
        return false;
    for (int i = 0; i < digits; i++, in->at++) {
        if (*in->at < '0' || *in->at > '9')
            return false;
        value = value * 10 + (*in->at - '0');
    }
    *ret_value = value;
    return value >= min && value <= max;
}

static bool read_any(struct cursor *in, const char *characters)
{
    if (in->at == in->end || *in->at == '\0' || strchr(characters, *in->at) == NULL)
        return false;
    in->at++;
    return true;
}

static bool read_date(struct cursor *in, struct weir_date *ret_date)
{
    int year;
    if (!read_number(in, 4, 0, 9999, &year) || !read_any(in, "-") ||
        !read_number(in, 2, 1, 12, &ret_date->month) || !read_any(in, "-"))
        return false;
    ret_date->year = year;
    return read_number(in, 2, 1, days_in_month(year, ret_date->month), &ret_date->day);
}

/* "11:36:23" with an optional fraction, cut to microseconds. A leap second counts as the next
 * second. */
static bool read_clock(struct cursor *in, int64_t *ret_us)
{
    int hour, minute, second;
    if (!read_number(in, 2, 0, 23, &hour) || !read_any(in, ":") ||
        !read_number(in, 2, 0, 59, &minute) || !read_any(in, ":") ||
        !read_number(in, 2, 0, 60, &second))
        return false;
    *ret_us = (hour * (int64_t)3600 + minute * (int64_t)60 + second) * US_PER_SECOND;
    if (!read_any(in, "."))
        return true;
    int digit;
    if (!read_number(in, 1, 0, 9, &digit))
        return false;
    int64_t unit = US_PER_SECOND;
    do {
        unit /= 10;
        *ret_us += digit * unit;
    } while (read_number(in, 1, 0, 9, &digit));
    return true;
}

/* "Z", "+02:00", or nothing, which is UTC like a date alone. */
static bool read_zone(struct cursor *in, int64_t *ret_us)
{
    *ret_us = 0;
    if (in->at == in->end || read_any(in, "Zz"))
        return true;
    int sign = *in->at == '-' ? -1 : 1;
    int hours, minutes;
    if (!read_any(in, "+-") || !read_number(in, 2, 0, 23, &hours) || !read_any(in, ":") ||
        !read_number(in, 2, 0, 59, &minutes))
        return false;
    *ret_us = sign * (hours * (int64_t)60 + minutes) * 60 * US_PER_SECOND;
    return true;
}

bool weir_time_parse_zoned(const char *text, size_t size, int64_t *ret_time_us, bool *ret_is_zoned)
{
    struct cursor in = {.at = text, .end = text + size};
    struct weir_date date = {0};
    int64_t clock_us = 0, zone_us = 0;
    bool is_zoned = false;

    if (!read_date(&in, &date))
        return false;
    if (in.at != in.end) {
        if (!read_any(&in, "Tt ") || !read_clock(&in, &clock_us))
            return false;
        is_zoned = in.at != in.end;
        if (!read_zone(&in, &zone_us))
            return false;
    }
    if (in.at != in.end)
        return false;
    *ret_time_us = weir_days_of(date) * US_PER_DAY + clock_us - zone_us;
    *ret_is_zoned = is_zoned;
    return true;
}

bool weir_time_parse(const char *text, size_t size, int64_t *ret_time_us)
{
    bool is_zoned;
    return weir_time_parse_zoned(text, size, ret_time_us, &is_zoned);
}

int64_t weir_time_add_months(int64_t time_us, int64_t months)
{
    int64_t days = weir_divide_down(time_us, US_PER_DAY);
    int64_t us = remainder_of(time_us, US_PER_DAY);
    struct weir_date date = weir_date_of(days);
    int64_t end = months < 0 ? INT64_MIN : INT64_MAX; /* of time, as far as 64 bits reach */
    int64_t month;
    if (__builtin_add_overflow(date.year * 12 + date.month - 1, months, &month) ||
        month > INT64_MAX / 40 || month < INT64_MIN / 40)
        return end;
    date.year = weir_divide_down(month, 12);
    date.month = (int)(month - date.year * 12) + 1;
    int last = days_in_month(date.year, date.month);
    if (date.day > last)
        date.day = last;
    int64_t result;
    days = weir_days_of(date);
    if (days < 0) /* the first day of 64 bits begins before them: build it from its end */
        days++, us -= US_PER_DAY;
    if (__builtin_mul_overflow(days, US_PER_DAY, &result) ||
        __builtin_add_overflow(result, us, &result))
        return end;
    return result;
}
