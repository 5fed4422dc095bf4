/* Cost of a job's batches so far, over all workers: cumulative. */
#ifndef WEIR_PREPROCESS_SCALE_COUNTERS_H
#define WEIR_PREPROCESS_SCALE_COUNTERS_H

#include "preprocess/plan/ordering.h"

struct scale_counters {
    double read_ns, read_bytes;   /* getting the bytes of samples */
    double queued_ns, sent_bytes; /* of finished batches, until each was sent */
    struct ordering_cost operators[CHAIN_OPERATORS_MAX]; /* in the order in which they run */
    size_t operator_count;
};

#endif
