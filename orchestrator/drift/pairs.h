/* Squared distances between the rows of two windows put together, in tiles of PAIRS_LANES columns: no
 * more than one tile is held. Every distance is summed from the first component to the last in a lane of
 * its own, so that it has the same bits whatever the instruction set (see
 * docs/decisions/005-products-of-our-own.md). */
#ifndef ORCHESTRATOR_DRIFT_PAIRS_H
#define ORCHESTRATOR_DRIFT_PAIRS_H

#include "orchestrator/drift/statistic.h"

enum { PAIRS_LANES = 16 };

typedef float pairs_floats __attribute__((vector_size(PAIRS_LANES * sizeof(float)), __may_alias__));

struct drift_pairs {
    size_t count, width;
    size_t first; /* of the reference; the others are of the current window */
    size_t tiles;
    const float **rows; /* reference, then current */
    /* component k of rows 16 t … 16 t + 15 at [t * width + k]; zeroes after the last */
    pairs_floats *at;
};

/* Borrows the windows: of each at most `rows_max` rows, evenly spaced. */
void orchestrator_pairs_init(struct drift_pairs *pairs, const struct drift_input *input,
                             size_t rows_max);
void orchestrator_pairs_fini(struct drift_pairs *pairs);

/* |row j - row 16 t + lane|² at ret_squares[j - 16 t][lane] for every j >= 16 t; up to three rows more are
 * written. Room for orchestrator_pairs_room() of them is enough for every tile. */
void orchestrator_pairs_tile(const struct drift_pairs *pairs, size_t tile,
                             pairs_floats *ret_squares);
size_t orchestrator_pairs_room(const struct drift_pairs *pairs);

/* The median of the squared distances between different rows, the lower of two; of 1024 rows, evenly spaced, when
 * there are more. The median of the positive ones where that is 0; 0 when all rows are equal. */
float orchestrator_pairs_median(const struct drift_pairs *pairs);

#endif
