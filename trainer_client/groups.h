/* Which samples of a batch belong together, and what they are told apart by: what the tensors that training.group and
 * training.slices name say of each. The model does not see these tensors. Owned by: struct trainer. */
#ifndef WEIR_TRAINER_CLIENT_GROUPS_H
#define WEIR_TRAINER_CLIENT_GROUPS_H

#include "core/base/error.h"
#include "core/wire/outputs.h"

#include <weir/client.h>

struct groups_wanted {
    const char *group; /* "": none */
    const char *slices[WEIR_OUTPUTS_SLICES_MAX];
    size_t slice_count;
};

/* Zero-initialised is empty. */
struct groups {
    int64_t *at;     /* of each sample of the batch at hand; NULL: there are none */
    int64_t *slices; /* (samples, slice_count) */
    size_t capacity;
    struct weir_batch rest; /* the batch without the tensors */
    struct weir_tensor *tensors;
    size_t tensors_max;
};

/* True when the tensor is wanted by name, so that the loop is not shown it. */
bool trainer_groups_hide(const struct groups_wanted *wanted, const char *name);
/* Sets `at`, `slices` and `rest`, which live as long as the batch, until the next call. A whole number is the group's
 * number; anything else, texts and lists too, is hashed. INVALID when the batch has no tensor of a wanted name. */
enum weir_status trainer_groups_take(struct groups *groups, const struct groups_wanted *wanted,
                                     const struct weir_batch *batch,
                                     struct weir_error *err) WEIR_MUST_USE;
void trainer_groups_fini(struct groups *groups);

#endif
