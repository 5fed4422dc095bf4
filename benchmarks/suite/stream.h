/* A pipeline of this folder, run on its stream by `orchestrator run`, as a user does; with another
 * trigger, if one is given. What its models were measured as is the figure: numbers that are the
 * same on every machine, so that each is run once. */
#ifndef BENCHMARKS_SUITE_STREAM_H
#define BENCHMARKS_SUITE_STREAM_H

#include "core/base/error.h"

#include <stddef.h>

struct stream_plan {
    const char *file;       /* "arxiv.yaml" */
    const char *folder;     /* of the stream, below WEIR_TEST_DATA */
    const char *trigger;    /* instead of the file's own; NULL: that */
    const char *evaluation; /* the one of the file whose values are read */
    const char *later;      /* where the window begins that policies are judged on; NULL: nowhere */
};

/* Values of one metric, in the order of their intervals. */
struct stream_curve {
    double mean, last;
    double later; /* mean of those that begin at the plan's `later`, and after; 0: there are none */
    size_t count, later_count;
    size_t trainings; /* after the beginning of the first interval */
};

/* Runs the plan in a folder of its own below `directory`; `*ret_log` is the caller's to free: its
 * events, one a line. UNAVAILABLE where the stream is not to be had. */
enum weir_status stream_run(const struct stream_plan *plan, const char *directory, char **ret_log,
                            struct weir_error *err) WEIR_MUST_USE;
/* INVALID when the log tells no value of the metric. */
enum weir_status stream_curve(const char *log, const struct stream_plan *plan, const char *metric,
                              struct stream_curve *ret_curve, struct weir_error *err) WEIR_MUST_USE;

#endif
