/* The rows of a batch while it is made: the arrays that travel beside the bytes of each sample, and the
 * holes. Each array becomes a frame as it is, so nothing is copied per sample but once. */
#ifndef WEIR_PREPROCESS_WORKER_ROWS_H
#define WEIR_PREPROCESS_WORKER_ROWS_H

#include "preprocess/worker/located.h"

/* Zeroed has none. Arrays are owned, each by itself; taking one away leaves NULL. */
struct rows {
    size_t count;
    uint64_t *ids;
    int64_t *labels;
    float *weights;    /* NULL: all are 1 */
    uint32_t *samples; /* the place of each in the batch */
    size_t holes;
    uint64_t *hole_ids;
    uint32_t *hole_states; /* enum weir_sample_state */
};

/* Makes room for `most` rows and holes together; there are none then. */
void preprocess_rows_begin(struct rows *rows, size_t most, bool has_weights);
void preprocess_rows_fini(struct rows *rows);
/* Rows of `count` samples that follow each other in the batch, the first of which has the place `first` there. */
void preprocess_rows_add(struct rows *rows, const struct located_sample *samples, size_t first,
                         size_t count);
void preprocess_rows_add_hole(struct rows *rows, uint64_t id, uint32_t state);
/* Rows whose flag (OPERATOR_ROW_…) says that an operator has given them up become holes. */
void preprocess_rows_drop(struct rows *rows, const uint8_t *flags);

#endif
