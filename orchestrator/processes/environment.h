/* The environment of the processes that are started. Storage alone has ours as it is. */
#ifndef ORCHESTRATOR_PROCESSES_ENVIRONMENT_H
#define ORCHESTRATOR_PROCESSES_ENVIRONMENT_H

#include "core/base/attributes.h"

#include <stdbool.h>
#include <stdint.h>

/* A copy of ours. The caller's, until orchestrator_environment_free(). */
char **orchestrator_environment_whole(void) WEIR_MUST_USE;
/* A copy of ours without the variables that hold credentials of object stores (core/service/credentials.h). The
 * caller's, until orchestrator_environment_free(). */
char **orchestrator_environment_of_service(void) WEIR_MUST_USE;
/* For programs that do not connect to Postgres: also without the variables of libpq (PGPASSWORD, PGPASSFILE, …) and
 * WEIR_KEY, which is for those elsewhere, and
 * with `gpus` in CUDA_VISIBLE_DEVICES (NULL: as it is). The caller's, until orchestrator_environment_free(). */
char **orchestrator_environment_apart(const char *gpus) WEIR_MUST_USE;
/* Takes over `env` and returns it with NAME=value, in place of any other value of that name. */
char **orchestrator_environment_add(char **env, const char *name, const char *value) WEIR_MUST_USE;
/* Takes over `env` and returns it with bounds for glibc's allocator, unless it has some: it keeps the memory of one
 * step for the next. Otherwise each step gives its tensors back to the system, and gets their pages again, cleared. */
char **orchestrator_environment_keep_memory(char **env) WEIR_MUST_USE;
/* One of the processes that do a run together. */
struct orchestrator_rank {
    uint32_t rank, ranks;
    /* of the loopback, at which they meet; 0: it is alone, and makes no network sockets */
    uint16_t port;
    bool has_gpus; /* it sees GPUs, and no others */
};
/* Takes over `env` and returns it with what says which of the processes it is: WEIR_RANK and WEIR_RANKS, and what
 * torch.distributed reads (init_process_group(), env://) and torchrun sets. */
char **orchestrator_environment_add_rank(char **env,
                                         const struct orchestrator_rank *rank) WEIR_MUST_USE;
void orchestrator_environment_free(char **env); /* NULL is fine */

#endif
