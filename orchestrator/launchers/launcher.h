/* A launcher puts processes somewhere: on this machine, later on a cluster. The orchestrator
 * decides how many run and under which names; the launcher decides where. Processes call home by
 * themselves and are known to work only after that. One instance lives on one loop.
 *
 * To add a launcher: write launcher_NAME.c and name it in registry.c. */
#ifndef ORCHESTRATOR_LAUNCHERS_LAUNCHER_H
#define ORCHESTRATOR_LAUNCHERS_LAUNCHER_H

#include "core/config/plugin.h"
#include "orchestrator/processes/supervisor.h"

struct launcher_process {
    const char *name; /* borrowed until the next call */
    const char *host;
    bool running; /* false: it is waiting to be started (again) */
};

struct launcher {
    CFG_PLUGIN;
    size_t state_size; /* zeroed and owned by the caller */

    /* Required. `supervisor` outlives the launcher. */
    enum weir_status (*init)(void *state, struct orchestrator_supervisor *supervisor,
                             struct weir_error *err);
    /* Required. Starts one process and keeps it as `child` asks (restart, exited). EXISTS when one
     * of that name is there, LIMIT when there is no room. May not block on the process' readiness.
     */
    enum weir_status (*start)(void *state, const struct orchestrator_child *child,
                              struct weir_error *err);
    /* Required. Asks it to end within `grace_ms`, then ends it; `exited` tells. Unknown: fine. */
    void (*stop)(void *state, const char *name, int64_t grace_ms);
    /* Required. Fills up to `max`, returns how many there are of this launcher's. */
    size_t (*list)(const void *state, struct launcher_process *processes, size_t max);
    /* Required. How many processes it would like to run at most. */
    size_t (*capacity)(const void *state);
    /* Optional. Releases what init() took. Running processes are the supervisor's. */
    void (*fini)(void *state);
};

CFG_REGISTRY(orchestrator_launcher, struct launcher, ORCHESTRATOR_LAUNCHERS)

#endif
