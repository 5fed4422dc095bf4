/* A watch over a noisy level: its spread, and the moment at which it is no longer what it was. Pure.
 *
 * The spread is that of successive differences (von Neumann, "Distribution of the ratio of the mean square successive
 * difference to the variance", 1941), which a change of level hardly disturbs. A change is found by cumulative sums (Page,
 * "Continuous inspection schemes", Biometrika 1954). One wild value is no alarm: it takes two. */
#ifndef WEIR_PREPROCESS_SCALE_WATCH_H
#define WEIR_PREPROCESS_SCALE_WATCH_H

#include <stdbool.h>

/* Sum of one direction since it was last zero. */
struct scale_drift {
    double sum;                   /* in spreads */
    double total, spreads, count; /* of values since the change */
};

/* Zeroed knows nothing: a spread of 5 % is assumed, until values have shown theirs. */
struct scale_watch {
    double variance, seen; /* of single values; differences seen */
    double last;
    bool has_last;
    struct scale_drift up, down;
};

/* Returns the standard deviation of a value. */
double preprocess_watch_spread(const struct scale_watch *watch);
/* Forgets the newest value: the next one is of another level. */
void preprocess_watch_pause(struct scale_watch *watch);

/* The new level, against the one that is left. */
struct scale_shift {
    double by;
    double count; /* values that it is the mean of */
};
/* Takes in a value less its expected level, which is the mean of `known` values. True: the level has changed. */
bool preprocess_watch_add(struct scale_watch *watch, double residual, double known,
                          struct scale_shift *ret_shift);

#endif
