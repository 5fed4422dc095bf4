/* The tensors of a run, as the dispatcher has announced them. Owned by: struct weir_client. */
#ifndef WEIR_TRAINER_CLIENT_ANNOUNCED_H
#define WEIR_TRAINER_CLIENT_ANNOUNCED_H

#include "core/base/memory.h"
#include "core/wire/wire.h"
#include "trainer_client/elements.h"
#include "trainer_client/groups.h"

/* Zeroed: none is announced. */
struct announced {
    struct weir_arena *arena; /* owns `tensors` */
    struct weir_client_tensor *tensors;
    size_t count;
    struct elements elements; /* names of their numbers */
};

/* Takes up the lists of the message, but for the tensors that `hidden` names (NULL: none), which no batch shows.
 * INVALID when they do not fit each other. */
enum weir_status trainer_announced_take(struct announced *announced,
                                        const struct groups_wanted *hidden,
                                        const struct msg_client_opened *opened,
                                        struct weir_error *err) WEIR_MUST_USE;
void trainer_announced_fini(struct announced *announced);

#endif
