/* Time. Decisions take `now` as an argument; only the rim calls these. Names carry the unit. */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR_TIME_TEXT_MAX = 32 };

int64_t weir_now_ms(void);        /* monotonic */
int64_t weir_now_ns(void);        /* monotonic */
int64_t weir_now_wall_us(void);   /* microseconds since 1970, UTC */
int64_t weir_cpu_ns(void);        /* CPU time of this process */
int64_t weir_cpu_thread_ns(void); /* CPU time of the calling thread */

/* "2002-08-22T11:36:23Z", with a fraction only when there is one. `text` holds WEIR_TIME_TEXT_MAX. */
void weir_time_format(int64_t time_us, char *text);
/* Accepts RFC 3339 ("2002-08-22T11:36:23.5+02:00", a space for the T too), a date alone
 * ("2002-08-22") as midnight UTC, and a time without a zone as UTC. What is finer than a
 * microsecond is cut off. */
bool weir_time_parse(const char *text, size_t size, int64_t *ret_time_us);
/* The same, and tells apart times that name their zone. */
bool weir_time_parse_zoned(const char *text, size_t size, int64_t *ret_time_us, bool *ret_is_zoned);
/* Adds calendar months in UTC, clamping the day (Jan 31 + 1 month = Feb 28), and at the ends of 64
 * bits. */
int64_t weir_time_add_months(int64_t time_us, int64_t months);

/* A day of the proleptic Gregorian calendar. */
struct weir_date {
    int64_t year;
    int month; /* 1 … 12 */
    int day;   /* 1 … 31 */
};
/* Days since 1970-01-01, and back (Howard Hinnant, chrono-Compatible Low-Level Date Algorithms). */
int64_t weir_days_of(struct weir_date date);
struct weir_date weir_date_of(int64_t days);

#endif
