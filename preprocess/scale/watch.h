/* A watch over a noisy level: its spread, and the moment at which it is no longer what it was. Pure.
 *
 * The spread is that of successive differences (von Neumann, "Distribution of the ratio of the mean square successive
 * difference to the variance", 1941), which a change of level hardly disturbs. A change is found by cumulative sums
 * (Page, "Continuous inspection schemes", Biometrika 1954). One wild value is no alarm: it takes two. */
#ifndef WEIR_PREPROCESS_SCALE_WATCH_H
#define WEIR_PREPROCESS_SCALE_WATCH_H

#include <stdbool.h>

/* Batches, and the time that they took. */
struct scale_tally {
    double batches, seconds;
    double reports;
};

/* Sum of one direction since it was last zero. */
struct scale_drift {
    double sum; /* in spreads */
    double spreads, count;
    struct scale_tally tally; /* since the change, if it is one */
};

/* Zeroed knows nothing: a spread of 5 % is assumed, until values have shown theirs. */
struct scale_watch {
    double variance, seen; /* of single values; differences seen */
    double last, last_counting;
    bool has_last;
    struct scale_drift up, down;
};

/* A value against its expected level, as logarithms. */
struct scale_residual {
    double by;
    double counting; /* variance for batches that are half done */
    double level;    /* … of the level */
};

/* Returns the standard deviation of a value, but for counting. */
double preprocess_watch_spread(const struct scale_watch *watch);
/* Forgets the newest value: the next one is of another level. */
void preprocess_watch_pause(struct scale_watch *watch);
enum scale_verdict {
    SCALE_SAME,  /* the value is of the level */
    SCALE_WILD,  /* it is far off: it does not count, unless more like it come */
    SCALE_OTHER, /* the level has changed */
};

/* Takes in a value and what it is made of. SCALE_OTHER: `*ret_tally` is the new level. */
enum scale_verdict preprocess_watch_add(struct scale_watch *watch,
                                        const struct scale_residual *residual,
                                        const struct scale_tally *tally,
                                        struct scale_tally *ret_tally);

#endif
