/* A pipeline that is trained again each month on all of the past, for a year, with and without rows that are kept, and
 * an erasure of a hundredth of its samples afterwards: whole platforms, each a process tree of its own. */
#ifndef BENCHMARKS_REUSE_MONTHLY_H
#define BENCHMARKS_REUSE_MONTHLY_H

#include "core/base/error.h"

struct monthly_cost {
    double workers_s;  /* CPU time of all trainings, as the platform tells */
    double platform_s; /* CPU time of all its processes, Postgres and the trainers among them */
};

struct monthly {
    struct monthly_cost plain, kept;
    double rows, lost; /* kept of the samples; gone by the erasure */
};

/* IO unless both make twelve trainings of clean audits, and the erasure ends with its receipt. */
enum weir_status monthly_measure(const char *directory, double scale, struct monthly *ret_monthly,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
