/* See s3_clock.h. */
#include "storage/objects/s3_clock.h"

enum {
    SECOND_US = 1000 * 1000,
    DRIFT = 2000, /* two clocks that are slewed part by one of so many at most, ntp_adjtime(3) */
};

static struct s3_clock widened(const struct s3_clock *clock, int64_t now_us)
{
    int64_t drift_us = (now_us - clock->heard_us) / DRIFT;

    return (struct s3_clock){clock->low_us - drift_us, clock->high_us + drift_us, now_us};
}

static bool is_known(const struct s3_clock *clock)
{
    return clock->low_us < clock->high_us;
}

void storage_s3_clock_hear(struct s3_clock *clock, int64_t date_s, int64_t sent_us,
                           int64_t heard_us)
{
    const struct s3_clock before = widened(clock, heard_us);
    struct s3_clock heard = {.low_us = date_s * SECOND_US - heard_us,
                             .high_us = (date_s + 1) * SECOND_US - sent_us,
                             .heard_us = heard_us};
    bool is_continued =
        is_known(clock) && before.low_us < heard.high_us && heard.low_us < before.high_us;

    if (is_continued && before.low_us > heard.low_us)
        heard.low_us = before.low_us;
    if (is_continued && before.high_us < heard.high_us)
        heard.high_us = before.high_us;
    *clock = heard;
}

bool storage_s3_clock_read(const struct s3_clock *clock, int64_t now_us, int64_t *ret_time_us)
{
    const struct s3_clock now = widened(clock, now_us);

    if (!is_known(clock) || now.high_us - now.low_us > S3_CLOCK_SPAN_US)
        return false;
    *ret_time_us = now_us + now.low_us;
    return true;
}
