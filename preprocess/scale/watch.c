/* See watch.h. */
#include "preprocess/scale/watch.h"

#include <math.h>

/* In spreads: a value may be so far off its level for nothing; the sum that is an alarm; the most that a value adds. In
 * steady noise that is one false alarm in some ten thousand values. */
static const double SLACK = 0.5, ALARM = 9.5, WILD = 6, CLEAR = 3, FAR = 4;
static const double SPREAD = 0.05,
                    SPREAD_MIN = 0.002; /* assumed at first; never believed to be less */
static const double FIRST = 2,
                    SEEN_MAX = 50; /* differences that the assumption counts; that are kept */

double preprocess_watch_spread(const struct scale_watch *watch)
{
    double variance = watch->seen > 0 ? watch->variance : SPREAD * SPREAD;
    return fmax(sqrt(variance), SPREAD_MIN);
}

void preprocess_watch_pause(struct scale_watch *watch)
{
    watch->has_last = false;
}

static void learn(struct scale_watch *watch, const struct scale_residual *residual)
{
    double spread = preprocess_watch_spread(watch);
    if (watch->has_last) {
        double difference = fmin(fabs(residual->by - watch->last), WILD * spread);
        double counting = residual->counting + watch->last_counting;
        double found = fmax(difference * difference - counting, 0) / 2;
        if (watch->seen <= 0) {
            watch->variance = SPREAD * SPREAD;
            watch->seen = FIRST;
        }
        watch->seen = fmin(watch->seen + 1, SEEN_MAX);
        watch->variance += (found - watch->variance) / watch->seen;
    }
    watch->last = residual->by;
    watch->last_counting = residual->counting;
    watch->has_last = true;
}

/* True: alarm. */
static bool drifts(struct scale_drift *drift, double spreads, const struct scale_tally *tally)
{
    drift->sum += fmin(spreads, WILD) - SLACK;
    if (drift->sum <= 0) {
        *drift = (struct scale_drift){0};
        return false;
    }
    if (spreads > CLEAR && spreads * drift->count > 2 * drift->spreads) /* it begins here */
        *drift = (struct scale_drift){.sum = drift->sum};
    drift->spreads += spreads;
    drift->count++;
    drift->tally.batches += tally->batches;
    drift->tally.seconds += tally->seconds;
    drift->tally.reports += tally->reports;
    return drift->sum > ALARM;
}

enum scale_verdict preprocess_watch_add(struct scale_watch *watch,
                                        const struct scale_residual *residual,
                                        const struct scale_tally *tally,
                                        struct scale_tally *ret_tally)
{
    double spread = preprocess_watch_spread(watch);
    double spreads = residual->by / sqrt(spread * spread + residual->counting + residual->level);
    learn(watch, residual);
    bool is_up = drifts(&watch->up, spreads, tally);
    bool is_down = drifts(&watch->down, -spreads, tally);
    if (!is_up && !is_down)
        return fabs(spreads) < FAR ? SCALE_SAME : SCALE_WILD;
    *ret_tally = is_up ? watch->up.tally : watch->down.tally;
    watch->up = watch->down = (struct scale_drift){0};
    return SCALE_OTHER;
}
