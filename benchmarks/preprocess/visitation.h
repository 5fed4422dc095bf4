/* The sharding policies of tf.data service as a simulation: who visits a sample how often when a worker is killed and
 * started again. After tensorflow/core/data/service (SoCC'23, arXiv 2210.14826) and the guarantees that
 * tf.data.experimental.service.ShardingPolicy documents: a worker keeps its place in memory alone, so one that is
 * started again begins its share of the data at the front, and what it had made and nobody had fetched is gone. No
 * data, no clock: for counting. */
#ifndef BENCHMARKS_PREPROCESS_VISITATION_H
#define BENCHMARKS_PREPROCESS_VISITATION_H

#include <stddef.h>
#include <stdint.h>

enum visitation {
    VISITATION_OFF,     /* each worker goes through all of the data */
    VISITATION_STATIC,  /* worker w of n through splits w, w + n, … */
    VISITATION_DYNAMIC, /* the dispatcher hands each split to who asks first, once */
};

struct visitation_form {
    enum visitation policy;
    size_t samples, split_samples;
    size_t epochs;
    size_t workers;
    size_t buffered;   /* splits that a worker makes in advance */
    size_t kill_after; /* splits fetched in the first epoch until worker 0 is killed */
};

/* All epochs, accounted for as the audit of a job does: set = visited + lost, and visits of a sample
 * beyond the first of an epoch are repeated. */
struct visitation_audit {
    uint64_t set, lost, repeated;
};

struct visitation_audit visitation_run(const struct visitation_form *form);

#endif
