/* Binary search in what is sorted, by any order. */
#ifndef WEIR_BASE_BISECT_H
#define WEIR_BASE_BISECT_H

#include <stddef.h>

/* Moves `low`, a size_t, to the first index below `high` at which `is_before`, an expression of the index `at`, is
 * false; to `high` if there is none. `is_before` must be true up to there and false from there on: C++ calls it a
 * partition point. `high` ends at the same index. */
#define WEIR_BISECT(low, high, at, is_before)               \
    do {                                                    \
        while ((low) < (high)) {                            \
            const size_t at = (low) + ((high) - (low)) / 2; \
            if (is_before)                                  \
                (low) = at + 1;                             \
            else                                            \
                (high) = at;                                \
        }                                                   \
    } while (0)

#endif
