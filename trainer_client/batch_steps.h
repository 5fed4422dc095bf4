/* Last steps of making tensors that a worker has left to this end (core/wire/tensor_step.h): they are taken as a batch
 * arrives, so that everything that holds, counts or shows it has it as it would have been made there. */
#ifndef WEIR_TRAINER_CLIENT_BATCH_STEPS_H
#define WEIR_TRAINER_CLIENT_BATCH_STEPS_H

#include "core/wire/tensor_step.h"

/* A tensor as it came, and as it will be. */
struct batch_finish {
    struct weir_tensor_form came, made;
    size_t rows, elements;
    uint64_t made_bytes;
};

/* Works out what the steps make of tensor number `tensor`, of so many rows and elements: sets all but `came`. INVALID
 * when a step does not take what it finds, or what comes of one would be more than `bytes_max`. */
enum weir_status trainer_batch_steps_plan(const struct weir_tensor_steps *steps, uint32_t tensor,
                                          uint64_t bytes_max, struct batch_finish *finish,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Makes it of `values`, which may lie at any address, in `to`. `offsets` NULL: it is not ragged. */
void trainer_batch_steps_take(const struct weir_tensor_steps *steps, uint32_t tensor,
                              const struct batch_finish *finish, const void *values,
                              const uint32_t *offsets, void *to);

#endif
