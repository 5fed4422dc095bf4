/* Choosing by vectors in a process of its own, so that what it takes can be capped and measured; and the
 * NumPy script that does the same. */
#ifndef BENCHMARKS_SELECTOR_CORESET_H
#define BENCHMARKS_SELECTOR_CORESET_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct coreset {
    const char *method, *options; /* a scoring method, and its options as YAML */
    size_t count, width, target;
    uint64_t memory_max;   /* of address space: beyond it, allocation fails */
    const char *directory; /* the choice is left there, and the points for the script */
};

struct coreset_cost {
    double seconds;       /* of choosing alone */
    uint64_t memory_peak; /* resident, with the points and the program */
};

/* Chooses among made-up points around fifty centers, the same on any machine. */
enum weir_status coreset_choose(const struct coreset *coreset, struct coreset_cost *ret_cost,
                                struct weir_error *err) WEIR_MUST_USE;

/* facility_numpy.py with the same points, target and cap. INTERNAL when its objective and that of the choice last made
 * here differ by more than a millionth. */
enum weir_status coreset_compare(const struct coreset *coreset, struct coreset_cost *ret_cost,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
