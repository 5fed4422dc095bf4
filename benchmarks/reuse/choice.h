/* The choice of what is kept (preprocess/plan/keeping.h) against the truth: every alternative is run for real, in one
 * thread, and held against the one that was chosen (E6 of the plan of benchmarks, after Cachew, ATC 2022, fig. 7). */
#ifndef BENCHMARKS_REUSE_CHOICE_H
#define BENCHMARKS_REUSE_CHOICE_H

#include "core/base/error.h"

#include <stddef.h>

/* Regret: cost of the chosen alternative against that of the best one. */
struct choice_regret {
    double sum, max;
    size_t points, right; /* right: within 3 % of the best */
};

/* Sweeps sizes of pictures, of what is made of them, and the number of uses. `directory` is a disk to keep rows on. */
enum weir_status choice_sweep(const char *directory, struct choice_regret *ret_regret,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
