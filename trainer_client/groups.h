/* Which samples of a batch belong together: what the tensor that training.group names says of each. The model does not see
 * that tensor. Owned by: struct trainer. */
#ifndef WEIR_TRAINER_CLIENT_GROUPS_H
#define WEIR_TRAINER_CLIENT_GROUPS_H

#include "core/base/error.h"

#include <weir/client.h>

/* Zero-initialised is empty. */
struct groups {
    int64_t *at; /* of each sample of the batch at hand */
    size_t capacity;
    struct weir_batch rest; /* the batch without the tensor */
    struct weir_tensor *tensors;
    size_t tensors_max;
};

/* Sets `groups->at` and `groups->rest`, which live as long as the batch, until the next call. A whole number is the group's
 * number; anything else, texts and lists too, is hashed. INVALID when the batch has no tensor called `name`. */
enum weir_status groups_take(struct groups *groups, const char *name,
                             const struct weir_batch *batch, struct weir_error *err) WEIR_MUST_USE;
void groups_fini(struct groups *groups);

#endif
