/* The tensors of a job, as consumers are told of them before there is a batch. */
#ifndef WEIR_PREPROCESS_PLAN_TENSORS_H
#define WEIR_PREPROCESS_PLAN_TENSORS_H

#include "core/wire/wire.h"
#include "preprocess/operators/chain.h"

/* Bounds of the integers of tensors by the fitted state that a fit goes on from. */
struct tensor_bounds {
    size_t count;                /* as many as there are tensors; 0: it goes on from none */
    uint64_t below[COLUMNS_MAX]; /* 0: nothing was fitted to it */
};
/* Leaves `bounds` alone when the chain goes on from none. */
void preprocess_tensors_bounds_before(const struct chain *chain, struct tensor_bounds *bounds);

/* Sets tensors, those lists that begin with tensor_, and the bounds; `before`: of the model that training starts from.
 * Lists are in `arena`, texts are the chain's, bounds before are the caller's. */
void preprocess_tensors_tell(const struct chain *chain, const struct tensor_bounds *before,
                             struct weir_arena *arena, struct msg_client_opened *message);

#endif
