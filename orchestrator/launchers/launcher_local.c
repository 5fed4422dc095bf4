/* Processes on this machine, as children of the orchestrator's supervisor. */
#include "orchestrator/launchers/launcher.h"

#include <unistd.h>

struct local {
    struct orchestrator_supervisor *supervisor;
};

static enum weir_status init(void *state, struct orchestrator_supervisor *supervisor,
                             struct weir_error *err)
{
    (void)err;
    struct local *local = state;
    local->supervisor = supervisor;
    return WEIR_OK;
}

static enum weir_status start(void *state, const struct orchestrator_child *child,
                              struct weir_error *err)
{
    struct local *local = state;
    return orchestrator_supervisor_start(local->supervisor, child, err);
}

static void stop(void *state, const char *name, int64_t grace_ms)
{
    struct local *local = state;
    orchestrator_supervisor_stop(local->supervisor, name, grace_ms);
}

static size_t list(const void *state, struct launcher_process *processes, size_t max)
{
    const struct local *local = state;
    struct orchestrator_child_state states[ORCHESTRATOR_CHILDREN_MAX];
    size_t count =
        orchestrator_supervisor_list(local->supervisor, states, ORCHESTRATOR_CHILDREN_MAX);
    size_t launched = 0;
    for (size_t i = 0; i < count; i++) {
        if (states[i].stage < ORCHESTRATOR_STAGE_LAUNCHED)
            continue;
        if (launched < max)
            processes[launched] = (struct launcher_process){
                .name = states[i].name,
                .host = "localhost",
                .running = states[i].pid != 0,
            };
        launched++;
    }
    return launched;
}

static size_t capacity(const void *state)
{
    (void)state;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (size_t)processors : 1;
}

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct launcher orchestrator_launcher_local = {
    .name = "local",
    .summary = "processes on this machine, children of the orchestrator",
    .options = OPTIONS,
    .state_size = sizeof(struct local),
    .init = init,
    .start = start,
    .stop = stop,
    .list = list,
    .capacity = capacity,
};
