/* Times as people write them: patterns of strptime(), and the zone whose clocks they were read from. What a
 * declaration says of `time`, and how a text is read by it. */
#ifndef WEIR_STORAGE_WRITTEN_TIME_H
#define WEIR_STORAGE_WRITTEN_TIME_H

#include "core/base/bytes.h"
#include "core/base/zone.h"
#include "core/config/yaml.h"

#include <stdbool.h>

enum { WRITTEN_PATTERNS_MAX = 16, WRITTEN_TIME_MAX = 64 /* characters of a time */ };

/* A pattern, cut in two where it says %f: strptime() knows no fractions of a second. */
struct written_pattern {
    const char *text; /* borrowed from the document */
    char *before;
    const char *after; /* NULL: there is no %f */
    bool is_zoned;     /* it reads an offset (%z) */
};

/* Zeroed: RFC 3339, and UTC where a time names no zone. */
struct written_time {
    struct written_pattern pattern[WRITTEN_PATTERNS_MAX]; /* tried in this order */
    size_t count;
    const char *zone_name; /* borrowed; NULL: UTC */
    struct weir_zone *zone;
};

/* Reads the keys `pattern` (a text or a list of them, may be NULL) and `zone` (may be NULL) of `node`; `path` is that
 * of the node, for messages. The document outlives the result. */
enum weir_status storage_written_time_declared(struct written_time *written,
                                               const struct weir_yaml_node *node, const char *path,
                                               struct weir_error *err) WEIR_MUST_USE;
void storage_written_time_fini(struct written_time *written);

/* Returns true when a pattern reads the whole text, and is a day of the calendar; microseconds since 1970. */
bool storage_written_time_read(const struct written_time *written, struct weir_bytes text,
                               int64_t *ret_time_us);
/* The same of a path, which may go on after the pattern. A pattern without a / begins at the file's name. */
bool storage_written_time_of_path(const struct written_time *written, const char *path,
                                  int64_t *ret_time_us);
/* Returns the instant of a number that counts days since 30 December 1899 on the clocks of the zone, as spreadsheets
 * do, to the millisecond. False before March 1900, where they count a day that never was, and after 9999. */
bool storage_written_time_of_serial(const struct written_time *written, double days,
                                    int64_t *ret_time_us);
/* Appends the patterns, out of the usual ones, that read the text, as a hint in a message; nothing if none does. */
void storage_written_time_suggest(struct weir_bytes text, struct weir_buf *out);

#endif
