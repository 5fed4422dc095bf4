/* See watch.h. */
#include "preprocess/scale/watch.h"

#include <math.h>

/* In spreads: a value may be so far off its level for nothing; the sum that is an alarm; the most that a value adds. In
 * steady noise that is one false alarm in some hundred thousand values. */
static const double SLACK = 0.5, ALARM = 10, WILD = 6, CLEAR = 3;
static const double SPREAD = 0.05,
                    SPREAD_MIN = 0.002; /* assumed at first; never believed to be less */
static const double FIRST = 2,
                    SEEN_MAX = 50; /* differences that the assumption counts; that are kept */

double preprocess_watch_spread(const struct scale_watch *watch)
{
    double seen = FIRST + watch->seen;
    double variance = (SPREAD * SPREAD * FIRST + watch->variance * watch->seen) / seen;
    return fmax(sqrt(variance), SPREAD_MIN);
}

void preprocess_watch_pause(struct scale_watch *watch)
{
    watch->has_last = false;
}

static void learn(struct scale_watch *watch, double residual)
{
    double spread = preprocess_watch_spread(watch);
    if (watch->has_last) {
        double difference = fmin(fabs(residual - watch->last), WILD * spread);
        watch->seen = fmin(watch->seen + 1, SEEN_MAX);
        watch->variance += (difference * difference / 2 - watch->variance) / watch->seen;
    }
    watch->last = residual;
    watch->has_last = true;
}

/* True: alarm. */
static bool drifts(struct scale_drift *drift, double spreads, double residual)
{
    drift->sum += fmin(spreads, WILD) - SLACK;
    if (drift->sum <= 0) {
        *drift = (struct scale_drift){0};
        return false;
    }
    if (spreads > CLEAR && spreads * drift->count > 2 * drift->spreads)
        drift->total = drift->spreads = drift->count = 0; /* it begins here */
    drift->total += residual;
    drift->spreads += spreads;
    drift->count++;
    return drift->sum > ALARM;
}

bool preprocess_watch_add(struct scale_watch *watch, double residual, double known,
                          struct scale_shift *ret_shift)
{
    double spreads = residual / (preprocess_watch_spread(watch) * sqrt(1 + 1 / fmax(known, 1)));
    learn(watch, residual);
    bool is_up = drifts(&watch->up, spreads, residual);
    bool is_down = drifts(&watch->down, -spreads, residual);
    if (!is_up && !is_down)
        return false;
    const struct scale_drift *drift = is_up ? &watch->up : &watch->down;
    *ret_shift = (struct scale_shift){drift->total / drift->count, drift->count};
    watch->up = watch->down = (struct scale_drift){0};
    return true;
}
