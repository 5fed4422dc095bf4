/* The task of a run: the orchestrator's `run_is`, kept. Owned by: the loop, as struct weir_client_task. */
#ifndef WEIR_TRAINER_CLIENT_TASK_H
#define WEIR_TRAINER_CLIENT_TASK_H

#include "core/base/memory.h"
#include "trainer_client/groups.h"

struct task_request;

struct task {
    struct weir_client_task shown; /* first, so that what the loop returns is this */
    struct weir_arena *arena;      /* owns every text */
    struct groups_wanted tells;    /* tensors that the loop does not see */
    const char *token;             /* of the run */
    struct task_request **next;    /* for the task after it; *next NULL: not asked, or answered */
    int64_t begun_cpu_ns;          /* CPU time of this process before it */
};

static inline const struct task *task_of_shown(const struct weir_client_task *shown)
{
    return (const struct task *)shown;
}

#endif
