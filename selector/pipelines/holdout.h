/* Samples that a dataset keeps from all training. By subject storage chooses them; by sample a hash
 * of the id does, keyed by the dataset's name, so that every pipeline on the dataset holds out the same
 * ones, now and later. Pure. */
#ifndef SELECTOR_PIPELINES_HOLDOUT_H
#define SELECTOR_PIPELINES_HOLDOUT_H

#include "selector/pipelines/pool.h"

/* Zero-initialised holds out nothing. */
struct selector_holdout {
    uint64_t seed;
    uint64_t bound;  /* held out: a hash below it */
    bool by_subject; /* instead: storage knows, see selector_columns_hold_out() */
};

struct selector_holdout selector_holdout_make(const char *dataset, double share);
bool selector_holdout_has(const struct selector_holdout *holdout, uint64_t id);
/* Clears, in the mask of a block, the rows that are held out, or with `held` those that are not. */
void selector_holdout_mask(const struct selector_holdout *holdout, uint64_t block_first, bool held,
                           uint64_t mask[SELECTOR_MASK_WORDS]);

#endif
