/* Threads that share one piece of work after the other. Owned by: struct learner. Each piece is cut into as many parts
 * as there are threads; the caller does one of them, and waits for the others. Between pieces the threads sleep. */
#ifndef WEIR_TRAINER_CLIENT_THREADS_H
#define WEIR_TRAINER_CLIENT_THREADS_H

#include "core/base/attributes.h"
#include "core/base/error.h"

#include <stdint.h>

struct trainer_threads;

/* Starts count - 1 threads beside the caller's; `count` is at least 1. LIMIT when the system has no more. */
enum weir_status trainer_threads_new(uint32_t count, struct trainer_threads **ret_threads,
                                     struct weir_error *err) WEIR_MUST_USE;
void trainer_threads_free(struct trainer_threads *threads); /* NULL is fine */
WEIR_DEFINE_AUTO(trainer_threads, trainer_threads_free)

/* Does part 0 … count - 1 at the same time, and returns when all are done; what they wrote is seen then. */
void trainer_threads_run(struct trainer_threads *threads, void (*part)(void *owner, uint32_t part),
                         void *owner);

#endif
