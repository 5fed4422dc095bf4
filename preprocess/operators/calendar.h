/* Parts of a local time, and their places on a circle. */
#ifndef WEIR_PREPROCESS_OPERATORS_CALENDAR_H
#define WEIR_PREPROCESS_OPERATORS_CALENDAR_H

#include "core/config/yaml.h"

enum { CALENDAR_HOLIDAYS_MAX = 4096, CALENDAR_EVERY_YEAR = 0 };

/* A local time, broken down. */
struct calendar_time {
    int32_t year;
    int32_t month;       /* 1 to 12 */
    int32_t day;         /* of the month, from 1 */
    int32_t day_of_year; /* from 1 */
    int32_t weekday;     /* 0: Monday */
    int32_t hour, minute;
};

/* Days that are named, in ascending order. */
struct calendar_holidays {
    /* of each: (year * 12 + month - 1) * 31 + day - 1; CALENDAR_EVERY_YEAR: of any year. Owned */
    int32_t *days;
    size_t count;
};

/* A part of a time, a number of [first, first + count). */
struct calendar_part {
    const char *name;
    int32_t first, count; /* count 0: it has no end, and no place on a circle */
    int32_t (*of)(const struct calendar_time *time, const struct calendar_holidays *holidays);
};

/* Returns the part of that name, NULL: there is none. Names, for messages, as "hour, weekday, …". */
const struct calendar_part *preprocess_calendar_part(const char *name);
void preprocess_calendar_names(struct weir_buf *out);

/* Breaks down microseconds since 1970 on local clocks, in years -32767 to 32767 of the proleptic Gregorian calendar;
 * false for others. */
bool preprocess_calendar_break_down(int64_t local_us, struct calendar_time *ret_time);

/* Reads a list of dates, "2024-12-25", or "12-25" for each year. INVALID with place and expectation. */
enum weir_status preprocess_calendar_read_holidays(const struct weir_yaml_node *node,
                                                   struct calendar_holidays *ret_holidays,
                                                   struct weir_error *err) WEIR_MUST_USE;

/* A place on a circle. */
struct calendar_place {
    float sine, cosine;
};

/* Returns the place after `step` of `steps` equal steps around the circle, 0 <= step < steps. */
struct calendar_place preprocess_calendar_place(int32_t step, int32_t steps);

#endif
