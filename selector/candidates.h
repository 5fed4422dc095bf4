/* From pool and columns to a choice: gathers the candidates of one trigger (or interval) and lets
 * the policy choose. Pure; lives as long as one task. */
#ifndef SELECTOR_CANDIDATES_H
#define SELECTOR_CANDIDATES_H

#include "selector/columns.h"
#include "selector/pool.h"
#include "selector/section.h"

/* Samples behind (after_time, after_id), up to and including (upto_time, upto_id), in the order of a
 * replay. */
struct selector_window {
    int64_t after_time;
    uint64_t after_id;
    int64_t upto_time;
    uint64_t upto_id;
};

/* Columns in ascending order of id; all but ids only when they were given. */
struct selector_candidates {
    uint64_t *ids;
    int64_t *times;
    int64_t *labels;
    int64_t *triggers; /* set from outside, one per candidate */
    uint8_t *past;     /* the same */
    float *weights;    /* of what was chosen; NULL: all 1 */
    size_t count;
    size_t capacity;
};

/* Zero-initialised is empty. */
void selector_candidates_fini(struct selector_candidates *candidates);
/* Appends the rows of `mask`; blocks must come in ascending order. */
void selector_candidates_add(struct selector_candidates *candidates, uint64_t block_first,
                             const uint64_t mask[SELECTOR_MASK_WORDS]);
/* The same with time and label; rows without columns are gone, rows outside `window` are left out. */
void selector_candidates_add_columns(struct selector_candidates *candidates,
                                     const uint64_t mask[SELECTOR_MASK_WORDS],
                                     const struct selector_column_block *columns,
                                     const struct selector_window *window);

/* For which trigger is chosen. */
struct selector_choosing {
    const struct selector_section *section;
    const char *pipeline;
    uint64_t trigger;
    const uint64_t *datasets; /* numbers, in the order of the file */
    size_t dataset_count;
};

/* Keeps, of `candidates`, what the section's policy chooses, ids ascending; a warm-up trigger keeps
 * all. On return none may be left; then `reason` (SELECTION_REASON_MAX) says why. Other columns than
 * ids and weights are void after it. */
void selector_candidates_choose(struct selector_candidates *candidates,
                                const struct selector_choosing *choosing, char *reason);
/* The seed of one trigger's choice: each trigger of each pipeline draws its own numbers. */
uint64_t selector_trigger_seed(uint64_t seed, const char *pipeline, uint64_t trigger);

#endif
