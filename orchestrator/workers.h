/* The processes of workers: what they are started with, through the platform. */
#ifndef ORCHESTRATOR_WORKERS_H
#define ORCHESTRATOR_WORKERS_H

#include "orchestrator/config/system.h"
#include "orchestrator/platform/platform.h"
#include "orchestrator/pool/crew.h"

/* The owner of the crew that the pool is given. */
struct worker_programs {
    struct orchestrator_platform *platform;
    const struct orchestrator_system *system;
    bool is_listening;          /* the platform, to those elsewhere */
    weir_child_exit_fn *exited; /* of each worker */
    void *exited_owner;
};

struct orchestrator_crew orchestrator_worker_crew(struct worker_programs *programs);

#endif
