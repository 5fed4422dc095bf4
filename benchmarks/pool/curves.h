/* Throughput of a training job by its workers, remote ones of a pool and local ones on the trainer's host: frozen, so
 * that no policy is fitted to them. */
#ifndef BENCHMARKS_POOL_CURVES_H
#define BENCHMARKS_POOL_CURVES_H

#include <stddef.h>

enum { CURVE_REMOTE_MAX = 24, CURVE_LOCAL_MAX = 10 };

struct curve {
    const char *name;
    double remote[CURVE_REMOTE_MAX + 1]; /* samples a second, by the number of workers */
    double local[CURVE_LOCAL_MAX + 1];   /* the same; what both make adds up */
    double consumer;                     /* samples a second that the trainer takes at most */
    double epoch;                        /* samples */
    double trainer_hour, remote_hour;    /* dollars; a local worker is free */
    /* The published end points that the published policies have to reach on it, one worker more or fewer. */
    unsigned cachew_remote;
    unsigned pecan_remote, pecan_local;
};

extern const struct curve CURVES[];
extern const size_t CURVE_COUNT;

#endif
