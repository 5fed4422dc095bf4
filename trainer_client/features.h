/* The tensors of a batch as one row of numbers per sample: what drift is measured on when no model
 * is asked (the identity as an embedding). Pure. */
#ifndef WEIR_TRAINER_CLIENT_FEATURES_H
#define WEIR_TRAINER_CLIENT_FEATURES_H

#include "core/base/error.h"
#include "core/base/memory.h"

#include <weir/client.h>

enum {
    FEATURES_MAX = 4096,    /* numbers per sample */
    FEATURES_BUCKETS = 128, /* of a ragged tensor */
};

/* Numbers per sample. INVALID, naming the tensor, when there are too many. */
enum weir_status trainer_features_width(const struct weir_batch *batch, uint32_t *ret_width,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Names of these numbers: `temperature`, `fields[3] "temp"`, `pixels[0,5,2]`, `words in bucket 17`. The list and the
 * texts are in `arena`. */
const char *const *trainer_features_names(const struct weir_batch *batch,
                                          const struct weir_client *client,
                                          struct weir_arena *arena);
/* features (samples, width). A dense tensor gives its numbers; a ragged one, whose numbers name things (tokens,
 * categories), the share of them that falls into each of FEATURES_BUCKETS buckets. */
void trainer_features_take(const struct weir_batch *batch, uint32_t width, float *features);

#endif
