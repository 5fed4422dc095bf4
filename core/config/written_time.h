/* Times as people write them: patterns of strptime(), and the zone whose clocks they were read from. What a
 * dataset says of `time`, or an operator of a column, and how a text or a number is read by it. */
#ifndef WEIR_CONFIG_WRITTEN_TIME_H
#define WEIR_CONFIG_WRITTEN_TIME_H

#include "core/base/bytes.h"
#include "core/base/zone.h"
#include "core/config/yaml.h"

#include <stdbool.h>

enum { WEIR_WRITTEN_PATTERNS_MAX = 16, WEIR_WRITTEN_TIME_MAX = 64 /* characters of a time */ };

/* Unit of a number that is a time: since 1970, or the days of spreadsheets (weir_written_time_of_real). */
enum weir_time_unit {
    WEIR_TIME_SECONDS,
    WEIR_TIME_MS,
    WEIR_TIME_US,
    WEIR_TIME_NS,
    WEIR_TIME_SERIAL_DAYS
};
extern const char *const WEIR_TIME_UNITS[]; /* their names, NULL-terminated */
/* Microseconds in a unit that is none shorter. */
int64_t weir_time_unit_us(enum weir_time_unit unit);

/* A pattern, cut in two where it says %f: strptime() knows no fractions of a second. */
struct weir_written_pattern {
    const char *text; /* borrowed from the document */
    char *before;
    const char *after; /* NULL: there is no %f */
    bool is_zoned;     /* it reads an offset (%z) */
};

/* Zeroed: RFC 3339, and UTC where a time names no zone. */
struct weir_written_time {
    struct weir_written_pattern pattern[WEIR_WRITTEN_PATTERNS_MAX]; /* tried in this order */
    size_t count;
    const char *zone_name; /* borrowed; NULL: UTC */
    struct weir_zone *zone;
};

/* Reads the values of the keys `pattern` (a text or a list of them, may be NULL) and `zone` (may be NULL) of `path`, a
 * word for messages. The document outlives the result. INVALID with place and expectation. */
enum weir_status weir_written_time_declared(struct weir_written_time *written,
                                            const struct weir_yaml_node *pattern,
                                            const struct weir_yaml_node *zone, const char *path,
                                            struct weir_error *err) WEIR_MUST_USE;
void weir_written_time_fini(struct weir_written_time *written);

/* Returns true when a pattern reads the whole text, and is a day of the calendar; microseconds since 1970. */
bool weir_written_time_read(const struct weir_written_time *written, struct weir_bytes text,
                            int64_t *ret_time_us);
/* Returns true when the text reads once its numbers of one and two digits are 1: its form is right, and 30 February or
 * hour 25 is what is wrong. */
bool weir_written_time_has_form(const struct weir_written_time *written, struct weir_bytes text);
/* weir_written_time_read() of a path, which may go on after the pattern. A pattern without a / begins at the file's
 * name. */
bool weir_written_time_of_path(const struct weir_written_time *written, const char *path,
                               int64_t *ret_time_us);
/* The instant of a number in a unit; false when 64 bits do not hold it, or it is no integer of that unit (days). */
bool weir_written_time_of_integer(int64_t number, enum weir_time_unit unit, int64_t *ret_time_us);
/* The same of a finite number. Days are since 30 December 1899 on the clocks of the zone, as spreadsheets count, to the
 * millisecond: false before March 1900, where they count a day that never was, and after 9999. */
bool weir_written_time_of_real(const struct weir_written_time *written, double number,
                               enum weir_time_unit unit, int64_t *ret_time_us);
/* Returns the microseconds by which the clocks of its zone are ahead of UTC at an instant. */
int64_t weir_written_time_ahead_us(const struct weir_written_time *written, int64_t utc_us);
/* Patterns that people use, NULL-terminated; day first stands before month first. */
extern const char *const WEIR_WRITTEN_USUAL[];
/* weir_written_time_read() by one pattern, in UTC; no year before 1000. */
bool weir_written_time_as(const char *pattern, struct weir_bytes text, int64_t *ret_time_us);
/* Appends the patterns, out of the usual ones, that read the text, as a hint in a message; nothing if none does. */
void weir_written_time_suggest(struct weir_bytes text, struct weir_buf *out);

#endif
