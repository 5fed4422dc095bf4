/* Local time of a place by the IANA time zone database, as the system has it (package tzdata). */
#ifndef WEIR_BASE_ZONE_H
#define WEIR_BASE_ZONE_H

#include "core/base/error.h"

#include <stdint.h>

struct weir_zone;

/* Opens a zone by its IANA name, such as "Europe/Berlin" or "UTC". NOT_FOUND for a name that the database lacks. */
enum weir_status weir_zone_open(const char *name, struct weir_zone **ret_zone,
                                struct weir_error *err) WEIR_MUST_USE;
void weir_zone_free(struct weir_zone *zone);
WEIR_DEFINE_AUTO(weir_zone, weir_zone_free)

/* Returns the microseconds by which local time is ahead of UTC at an instant. */
int64_t weir_zone_offset_us(const struct weir_zone *zone, int64_t utc_us);
/* Returns the instant of a local time, both in microseconds since 1970 on their own clocks, in years 0 to 9999. A time
 * that clocks show twice, when they are set back, is the first of the two; one that they skip is read by the offset
 * before the jump (02:30 becomes 03:30 in summer time): PEP 495 with fold=0, and RFC 5545, 3.3.5. */
int64_t weir_zone_to_utc(const struct weir_zone *zone, int64_t local_us);

#endif
