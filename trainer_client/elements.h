/* Names of the numbers of dense tensors, as the dispatcher has told them. Owned by: struct weir_client. */
#ifndef WEIR_TRAINER_CLIENT_ELEMENTS_H
#define WEIR_TRAINER_CLIENT_ELEMENTS_H

#include "core/base/memory.h"
#include "core/wire/wire.h"

/* Zeroed: nothing is named. */
struct elements {
    struct weir_arena *arena; /* owns the rest */
    struct named_tensor {
        const char *name;
        const char *const *names; /* of its numbers, "" where one has none */
        size_t count;
    } * tensors;
    size_t count;
};

/* Takes up the lists of the message. INVALID when they do not fit each other. */
enum weir_status trainer_elements_take(struct elements *elements,
                                       const struct msg_client_opened *opened,
                                       struct weir_error *err) WEIR_MUST_USE;
/* NULL: there is no such number, or it has no name. */
const char *trainer_elements_name(const struct elements *elements, const char *tensor,
                                  uint64_t index);
void trainer_elements_fini(struct elements *elements);

#endif
