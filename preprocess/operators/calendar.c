/* Parts of a local time, and their places on a circle. */
#include "preprocess/operators/calendar.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/config/written_time.h"

#include <stdlib.h>
#include <string.h>

enum { HOURS = 24, WEEKDAYS = 7, SATURDAY = 5, MONTHS = 12, DAYS = 31, YEAR_MAX = 32767 };
static const int64_t US_PER_MINUTE = 60000000, MINUTES_PER_DAY = 1440;

/* ---- breaking down ---- */

static void take_date(int64_t days, struct calendar_time *time)
{
    struct weir_date date = weir_date_of(days);
    const struct weir_date new_year = {.year = date.year, .month = 1, .day = 1};
    time->year = (int32_t)date.year;
    time->month = date.month;
    time->day = date.day;
    time->day_of_year = (int32_t)(days - weir_days_of(new_year)) + 1;
}

bool preprocess_calendar_break_down(int64_t local_us, struct calendar_time *ret_time)
{
    static const int64_t DAYS_MAX = (int64_t)YEAR_MAX * 365;
    int64_t minutes = weir_divide_down(local_us, US_PER_MINUTE),
            days = weir_divide_down(minutes, MINUTES_PER_DAY);
    int32_t of_day = (int32_t)(minutes - days * MINUTES_PER_DAY);
    int64_t since_monday = (days + 3) % WEEKDAYS; /* 1 January 1970 was a Thursday */
    if (days > DAYS_MAX || days < -DAYS_MAX)
        return false;
    take_date(days, ret_time);
    ret_time->weekday = (int32_t)(since_monday < 0 ? since_monday + WEEKDAYS : since_monday);
    ret_time->hour = of_day / 60;
    ret_time->minute = of_day % 60;
    return true;
}

/* ---- holidays ---- */

static int32_t day_number(int32_t year, int32_t month, int32_t day)
{
    return (year * MONTHS + month - 1) * DAYS + day - 1;
}

static int compare_days(const void *left, const void *right)
{
    const int32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static bool holds(const struct calendar_holidays *holidays, int32_t day)
{
    return bsearch(&day, holidays->days, holidays->count, sizeof(day), compare_days) != NULL;
}

static bool read_day(const char *text, int32_t *ret_day)
{
    bool has_year = strlen(text) == strlen("2024-12-25");
    WEIR_AUTO_FREE char *whole =
        weir_format("%s%s", has_year ? "" : "2024-", text); /* a leap year */
    int64_t time_us;
    struct calendar_time time;
    if (!weir_written_time_as("%Y-%m-%d", weir_bytes_of(whole), &time_us) ||
        !preprocess_calendar_break_down(time_us, &time))
        return false;
    *ret_day = day_number(has_year ? time.year : CALENDAR_EVERY_YEAR, time.month, time.day);
    return true;
}

enum weir_status preprocess_calendar_read_holidays(const struct weir_yaml_node *node,
                                                   struct calendar_holidays *ret_holidays,
                                                   struct weir_error *err)
{
    size_t count = node != NULL ? weir_yaml_length(node) : 0;
    if (node != NULL && (count == 0 || count > CALENDAR_HOLIDAYS_MAX))
        return weir_yaml_fail(node, err,
                              "holidays: found %zu, expected a list of 1 to %d dates, such as "
                              "[2024-12-25, 01-01]",
                              count, CALENDAR_HOLIDAYS_MAX);
    *ret_holidays = (struct calendar_holidays){.days = weir_calloc(count + 1, sizeof(int32_t))};
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *item = weir_yaml_at(node, i);
        const char *text = weir_yaml_text(item);
        if (text == NULL || !read_day(text, &ret_holidays->days[ret_holidays->count++]))
            return weir_yaml_fail(item, err,
                                  "holidays: found '%s', expected a date such as 2024-12-25, or "
                                  "12-25 for each year",
                                  text != NULL ? text : "");
    }
    qsort(ret_holidays->days, count, sizeof(int32_t), compare_days);
    return WEIR_OK;
}

/* ---- parts ---- */

// clang-format off
#define PARTS(X)                                                                 \
    X(minute, 0, 60, time->minute)                                               \
    X(hour, 0, HOURS, time->hour)                                                \
    X(weekday, 0, WEEKDAYS, time->weekday)                                       \
    X(hour_of_week, 0, HOURS * WEEKDAYS, time->weekday * HOURS + time->hour)     \
    X(weekend, 0, 2, time->weekday >= SATURDAY)                                  \
    X(holiday, 0, 2, holds(holidays, day_number(time->year, time->month, time->day)) || \
                     holds(holidays, day_number(CALENDAR_EVERY_YEAR, time->month, time->day))) \
    X(day, 1, DAYS, time->day)                                                   \
    X(day_of_year, 1, 366, time->day_of_year)                                    \
    X(month, 1, MONTHS, time->month)                                             \
    X(quarter, 1, 4, (time->month + 2) / 3)                                      \
    X(year, 0, 0, time->year)
// clang-format on

#define X(name, first, count, value)                                   \
    static int32_t name##_of(const struct calendar_time *time,         \
                             const struct calendar_holidays *holidays) \
    {                                                                  \
        (void)holidays;                                                \
        return value;                                                  \
    }
PARTS(X)
#undef X

static const struct calendar_part ALL[] = {
#define X(name, first, count, value) {#name, first, count, name##_of},
    PARTS(X)
#undef X
};

const struct calendar_part *preprocess_calendar_part(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++) {
        if (name != NULL && strcmp(ALL[i].name, name) == 0)
            return &ALL[i];
    }
    return NULL;
}

void preprocess_calendar_names(struct weir_buf *out)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++)
        weir_buf_printf(out, "%s%s", i > 0 ? ", " : "", ALL[i].name);
}

/* ---- the circle ---- */

/* Sine and cosine of an angle of at most an eighth of the circle, by their series: what is left out is below 1e-16. */
static void by_series(double angle, double *ret_sine, double *ret_cosine)
{
    double square = angle * angle, sine = 0, cosine = 0;
    for (int n = 16; n >= 2; n -= 2) {
        sine = (1 - sine) * square / ((double)n * (n + 1));
        cosine = (1 - cosine) * square / ((double)n * (n - 1));
    }
    *ret_sine = angle * (1 - sine);
    *ret_cosine = 1 - cosine;
}

struct calendar_place preprocess_calendar_place(int32_t step, int32_t steps)
{
    static const double CIRCLE = 6.283185307179586;
    double sine, cosine;
    int32_t quarter =
        (int32_t)(((int64_t)step * 8 + steps) / (2 * (int64_t)steps)); /* the nearest */
    by_series(CIRCLE * ((double)(4 * step - quarter * steps) / (4.0 * steps)), &sine, &cosine);
    double turned[4] = {sine, cosine, -sine, -cosine};
    return (struct calendar_place){.sine = (float)turned[quarter % 4],
                                   .cosine = (float)turned[(quarter + 1) % 4]};
}
