/* Trainers of the user that hold more memory than `programs.NAME.memory` allows: looked at twice a second, and ended.
 * Address space says nothing of a program that maps what it never touches, so it is not limited. */
#ifndef ORCHESTRATOR_TRAINER_MEMORY_H
#define ORCHESTRATOR_TRAINER_MEMORY_H

#include "core/loop/loop.h"

#include <sys/types.h>

struct trainer_memory;

/* `end` is called once for each that is above its bound. */
struct trainer_memory *orchestrator_trainer_memory_new(
    struct weir_loop *loop, void (*end)(void *owner, int64_t run, uint32_t rank), void *owner);
void orchestrator_trainer_memory_free(struct trainer_memory *memory);

/* Watches that process of the run from now on; `program` is copied. */
void orchestrator_trainer_memory_begin(struct trainer_memory *memory, int64_t run, uint32_t rank,
                                       pid_t pid, uint64_t bytes_max, const char *program);
/* The process of one run does another one from now on. */
void orchestrator_trainer_memory_pass(struct trainer_memory *memory, int64_t before, int64_t run);
/* The process is gone. Returns why it was ended, in caller's memory; NULL: not for its memory. */
char *orchestrator_trainer_memory_end(struct trainer_memory *memory, int64_t run, uint32_t rank);

#endif
