/* Processes on this machine, as children of the orchestrator's supervisor: none of them outlives it. */
#include "orchestrator/launchers/launcher.h"

#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

struct local {
    struct orchestrator_supervisor *supervisor;
};

static enum weir_status init(void *state, const struct launcher_context *context,
                             struct weir_error *err)
{
    (void)err;
    struct local *local = state;
    local->supervisor = context->supervisor;
    return WEIR_OK;
}

/* Returns what the system says of itself; 0: it does not say. */
static uint64_t system_has(int name)
{
    long found = sysconf(name);
    return found > 0 ? (uint64_t)found : 0;
}

/* GPUs of this machine are given out before a launcher is asked (sharing/arbiter.h). */
static enum weir_status check(const struct launcher_group *group, struct weir_error *err)
{
    const struct launcher_resources *each = &group->each;
    uint64_t cores = system_has(_SC_NPROCESSORS_ONLN);
    uint64_t memory = system_has(_SC_PHYS_PAGES) * system_has(_SC_PAGESIZE);
    if (each->cores > cores && cores > 0)
        return weir_fail(err, WEIR_LIMIT, "%s: a process needs %u cores, this machine has %" PRIu64,
                         group->name, each->cores, cores);
    if (each->memory > memory && memory > 0)
        return weir_fail(err, WEIR_LIMIT,
                         "%s: a process needs %" PRIu64 " bytes of memory, this machine has "
                         "%" PRIu64,
                         group->name, each->memory, memory);
    if (each->time_ms > 0)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "%s: processes of this machine run until they are ended: found a limit of "
                         "%" PRId64 " ms",
                         group->name, each->time_ms);
    return WEIR_OK;
}

/* Returns the core, counted from 1, that fewest processes are kept to: of equal ones the last, as the system begins
 * with the first. 0: it does not say which there are. */
static unsigned free_core(const struct local *local)
{
    struct orchestrator_child_state states[ORCHESTRATOR_CHILDREN_MAX];
    size_t count =
        orchestrator_supervisor_list(local->supervisor, states, ORCHESTRATOR_CHILDREN_MAX);
    unsigned kept[CPU_SETSIZE + 1] = {0}, best = 0;
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        kept[states[i].core]++;
    for (unsigned core = 1; core <= CPU_SETSIZE; core++)
        if (CPU_ISSET(core - 1, &usable) && (best == 0 || kept[core] <= kept[best]))
            best = core;
    return best;
}

/* Workers beside the trainers keep to a core each: the others stay the trainers'. */
static enum weir_status start_one(const struct local *local, const struct launcher_group *group,
                                  size_t index, struct weir_error *err)
{
    struct orchestrator_child member = group->members[index];
    if (weir_str_equal(group->place, "host") && group->each.cores == 1)
        member.core = free_core(local);
    return orchestrator_supervisor_start(local->supervisor, &member, err);
}

static enum weir_status start(void *state, const struct launcher_group *group,
                              struct weir_error *err)
{
    struct local *local = state;
    enum weir_status status = check(group, err);
    size_t started = 0;
    while (status == WEIR_OK && started < group->count) {
        status = start_one(local, group, started, err);
        started += status == WEIR_OK;
    }
    while (status != WEIR_OK && started > 0)
        orchestrator_supervisor_stop(local->supervisor, group->members[--started].name, 0);
    return status;
}

static bool is_known(const struct local *local, const char *name)
{
    struct orchestrator_child_state states[ORCHESTRATOR_CHILDREN_MAX];
    size_t count =
        orchestrator_supervisor_list(local->supervisor, states, ORCHESTRATOR_CHILDREN_MAX);
    for (size_t i = 0; i < count; i++)
        if (weir_str_equal(states[i].name, name))
            return true;
    return false;
}

static enum weir_status adopt(void *state, const struct launcher_group *group,
                              struct weir_error *err)
{
    const struct local *local = state;
    for (size_t i = 0; i < group->count; i++)
        if (is_known(local, group->members[i].name))
            return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND, "it ended with the orchestrator that had started it");
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
                .state = states[i].pid != 0 ? LAUNCHER_RUNNING : LAUNCHER_PENDING,
                .reason = states[i].pid != 0 ? "" : states[i].how,
            };
        launched++;
    }
    return launched;
}

static enum weir_status rename_process(void *state, const char *from, const char *to,
                                       struct weir_error *err)
{
    const struct local *local = state;
    return orchestrator_supervisor_rename(local->supervisor, from, to, err);
}

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct launcher orchestrator_launcher_local = {
    .name = "local",
    .summary = "processes on this machine, children of the orchestrator",
    .options = OPTIONS,
    .state_size = sizeof(struct local),
    .init = init,
    .start = start,
    .adopt = adopt,
    .stop = stop,
    .list = list,
    .rename = rename_process,
};
