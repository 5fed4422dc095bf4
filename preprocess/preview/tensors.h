/* The tensors that leave a chain, as JSON: [{name, type, shape (of one sample) or ragged: true, below}]. */
#ifndef WEIR_PREPROCESS_PREVIEW_TENSORS_H
#define WEIR_PREPROCESS_PREVIEW_TENSORS_H

#include "preprocess/operators/chain.h"

#include <jansson.h>

/* `below`, the bound of integers, is that of the chain; where that knows none, that of `seen`, one per output (NULL:
 * nothing was seen); left out where neither does. */
json_t *preprocess_tensors_json(struct chain *chain, const uint64_t *seen);

#endif
