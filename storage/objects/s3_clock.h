/* The clock of an object store, as the Date of its answers shows it: whole seconds, each of which narrows down the
 * interval that the clock must be in. It is held against the monotonic clock of this host, so that a jump of the time
 * of day here says nothing of the store. Pure. */
#ifndef WEIR_STORAGE_S3_CLOCK_H
#define WEIR_STORAGE_S3_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    S3_CLOCK_SPAN_US = 500 * 1000 /* width of an interval that says when a second ends there */
};

/* Bounds of the store's time minus the monotonic one. Zeroed is of a store that has not answered. */
struct s3_clock {
    int64_t low_us, high_us; /* equal: nothing is known */
    int64_t heard_us;        /* monotonic; both widen from then on, by what clocks may drift */
};

/* Takes in the Date of an answer to a request that was sent and answered at these times. What contradicts all before
 * stands alone: one of the clocks was set. */
void storage_s3_clock_hear(struct s3_clock *clock, int64_t date_s, int64_t sent_us,
                           int64_t heard_us);
/* The store's clock is past this time, and not by more than S3_CLOCK_SPAN_US; false when that is not known. */
bool storage_s3_clock_read(const struct s3_clock *clock, int64_t now_us, int64_t *ret_time_us);

#endif
