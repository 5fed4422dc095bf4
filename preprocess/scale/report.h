/* A span of a job's life, as its workers and its consumers have reported it: the only thing that scaling is decided by.
 * A recorded run is a list of these. Pure. */
#ifndef WEIR_PREPROCESS_SCALE_REPORT_H
#define WEIR_PREPROCESS_SCALE_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* Classes of workers: those of the pool, and those on the host of the trainer, which is paid for anyway. */
enum scale_place { SCALE_POOL, SCALE_HOST, SCALE_PLACES };

/* One worker, in the span. */
struct scale_maker {
    enum scale_place place;
    double batches; /* made of the job */
    double busy_s;  /* time spent making them, or waiting for their bytes, by the clock */
};

/* The consumer of one rank, in the span. */
struct scale_taker {
    double batches; /* consumed */
    double wait_s;  /* time spent waiting for the next one, by the clock */
    double queued;  /* batches that were there and waited for it, on average */
};

struct scale_report {
    double span_s;
    uint32_t workers[SCALE_PLACES]; /* serving the job all the time, with work or without */
    const struct scale_maker *makers;
    size_t maker_count;
    const struct scale_taker *takers;
    size_t taker_count;
};

#endif
