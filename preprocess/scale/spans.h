/* Reports of a job (report.h) out of the cumulative counters of its workers and consumers. Pure: time is handed in.
 *
 * Rules
 *   1  A span ends after SPANS_MS, or as soon as SPANS_BATCHES were consumed in it, but not before SPANS_LEAST_MS.
 *   2  Counters are compared within one session. A rate is taken between the newest beats before and in the span, by
 *      the time between them: beats do not come when spans begin and end.
 *   3  When a consumer begins again, its counters begin again as well: the span is thrown away.
 *   4  When the workers that serve the job are others, the span is thrown away, and another begins SPANS_SETTLE_MS
 *      later. If that happens again and again, the SPANS_THROWN_MAX-th span counts as it is: a pool in which workers
 *      die is scaled, too.
 *   5  A span is thrown away when nobody consumed or served in it, or a consumer was not heard twice.
 *   6  A consumer that takes batches in their order gets what workers of before have under way, before it sees anything
 *      of those that serve now: no span begins until then, or for SPANS_HELD_MS. */
#ifndef WEIR_PREPROCESS_SCALE_SPANS_H
#define WEIR_PREPROCESS_SCALE_SPANS_H

#include "preprocess/scale/report.h"

#include <stdbool.h>

enum {
    SPANS_MS = 2000,
    SPANS_LEAST_MS = 500,
    SPANS_BATCHES = 100,
    SPANS_SETTLE_MS = 1000,
    SPANS_THROWN_MAX = 4,
    SPANS_HELD_MS = 120000,
    SPANS_FORGET_MS = 10000, /* a worker that was silent for longer is forgotten */
};

/* Counters of a session, as of a beat. */
struct spans_counters {
    uint64_t session;
    uint64_t batches;
    int64_t ns; /* busy, or waited */
    int64_t at_ms;
};

struct spans_maker {
    enum scale_place place;
    struct spans_counters begun, newest;
};

struct spans_taker {
    struct spans_counters begun, newest; /* session 0: not heard of */
    double queued;                       /* added up … */
    uint32_t beats;                      /* … over so many, in the span */
};

/* Workers that serve the job. */
struct spans_workers {
    uint32_t at[SCALE_PLACES];
    uint64_t sessions; /* added up: the same for the same workers */
};

/* Zeroed knows nothing. */
struct spans {
    int64_t begun_ms;
    struct spans_workers workers;
    uint32_t thrown;            /* since the newest report */
    int64_t held_ms;            /* since when rule 6 holds; 0: it does not */
    struct spans_maker *makers; /* by session, ascending */
    size_t maker_count, maker_capacity;
    struct spans_taker *takers; /* by rank */
    size_t taker_count, taker_capacity;
    struct scale_maker *made; /* of the newest report */
    struct scale_taker *took;
    size_t made_capacity, took_capacity;
};

void preprocess_spans_fini(struct spans *spans);
/* Takes in the beat of a worker. */
void preprocess_spans_make(struct spans *spans, enum scale_place place,
                           const struct spans_counters *counters);
/* Takes in the beat of the consumer of a rank, which has so many batches waiting. */
void preprocess_spans_take(struct spans *spans, uint32_t rank,
                           const struct spans_counters *counters, double queued);
/* Takes in who serves the job now. */
void preprocess_spans_serve(struct spans *spans, const struct spans_workers *workers,
                            int64_t now_ms);
/* Takes in whether consumers wait for batches of workers of before (rule 6). */
void preprocess_spans_hold(struct spans *spans, bool lags, int64_t now_ms);
/* Ends the span if it is time. True when there is a report, whose rows live until the next call. */
bool preprocess_spans_end(struct spans *spans, int64_t now_ms, struct scale_report *ret_report);

#endif
