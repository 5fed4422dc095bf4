/* The tensors that leave a chain, as JSON: [{name, type, shape (of one sample) or ragged: true, below, size}]. */
#ifndef WEIR_PREPROCESS_PREVIEW_TENSORS_H
#define WEIR_PREPROCESS_PREVIEW_TENSORS_H

#include "preprocess/operators/chain.h"

#include <jansson.h>

/* Numbers that were seen, per output; 0: none. */
struct tensors_seen {
    uint64_t below[COLUMNS_MAX]; /* bound of integers */
    double size[COLUMNS_MAX];    /* of the others, the largest without its sign */
};

/* `below`, the bound of integers, is that of the chain; where that knows none, that of `seen` (NULL: nothing was seen);
 * left out where neither does, as is `size`. */
json_t *preprocess_tensors_json(struct chain *chain, const struct tensors_seen *seen);

#endif
