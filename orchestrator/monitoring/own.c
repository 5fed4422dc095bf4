/* Figures that the orchestrator has in memory: its processes, pipelines, runs and slots. */
#include "orchestrator/monitoring/parts.h"

#include "core/base/clock.h"
#include "orchestrator/pool/pool.h"
#include "orchestrator/runs/tally.h"
#include "orchestrator/sharing/arbiter.h"

#include <string.h>

#define NS_PER_SECOND 1e9

/* ---- processes ---- */

enum { WORKER = 4, TRAINER }; /* places in the list below */
static const char *const KINDS[] = {"postgres",   "storage", "selector",
                                    "dispatcher", "worker",  "trainer"};

/* Index of "trainer" for "trainer-1", and so on; or their number. */
static size_t kind_of(const char *name)
{
    size_t size = strlen(name), kind = 0;
    if (orchestrator_pool_place_of(name) < POOL_PLACES)
        return WORKER;
    while (size > 0 && strchr("-0123456789", name[size - 1]) != NULL)
        size--;
    while (kind < WEIR_COUNT(KINDS) &&
           (strlen(KINDS[kind]) != size || strncmp(KINDS[kind], name, size) != 0))
        kind++;
    return kind;
}

/* Trainers are started again by their runs. Of the others workers alone are forgotten before the end. */
static void add_processes(const struct orchestrator_supervisor *supervisor, struct figures *figures)
{
    struct orchestrator_child_state states[ORCHESTRATOR_CHILDREN_MAX];
    uint64_t running[WEIR_COUNT(KINDS) + 1] = {0}, restarts[WEIR_COUNT(KINDS) + 1] = {0};
    size_t count = orchestrator_supervisor_list(supervisor, states, WEIR_COUNT(states));
    restarts[WORKER] = orchestrator_supervisor_past_restarts(supervisor);
    for (size_t i = 0; i < count; i++) {
        size_t kind = kind_of(states[i].name);
        running[kind] += states[i].pid > 0;
        restarts[kind] += states[i].restarts;
    }
    for (size_t kind = 0; kind < WEIR_COUNT(KINDS); kind++) {
        FIGURE(figures, service_processes, running[kind], KINDS[kind]);
        if (kind != TRAINER)
            FIGURE(figures, service_restarts, restarts[kind], KINDS[kind]);
    }
}

/* ---- the pool ---- */

static void add_members(const struct pool_members *members, struct figures *figures)
{
    unsigned counts[POOL_PLACES][POOL_STATES] = {0};
    for (size_t i = 0; i < members->count; i++)
        counts[members->at[i].place][members->at[i].state]++;
    for (int place = 0; place < POOL_PLACES; place++)
        for (int state = 0; state < POOL_STATES; state++)
            FIGURE(figures, pool_workers, counts[place][state], ORCHESTRATOR_POOL_PLACES[place],
                   ORCHESTRATOR_POOL_STATES[state]);
}

/* Runs of a pipeline together; those that nothing is known of yet are left out. */
static double needed(const struct monitor_origins *origins, const struct msg_pool_is *advice,
                     int64_t pipeline, bool *ret_is_known)
{
    uint64_t permille = 0;
    *ret_is_known = false;
    for (size_t i = 0; i < advice->jobs.count && i < advice->needs.count; i++) {
        bool is_its =
            orchestrator_run_pipeline(origins->runs, (int64_t)advice->jobs.at[i]) == pipeline;
        permille += is_its ? advice->needs.at[i] : 0;
        *ret_is_known = *ret_is_known || is_its;
    }
    return (double)permille / 1000;
}

static void add_needs(const struct monitor_origins *origins, const struct msg_pool_is *advice,
                      struct figures *figures)
{
    for (const struct pipeline *p = origins->pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p)) {
        bool is_known;
        double workers = needed(origins, advice, orchestrator_pipeline_id(p), &is_known);
        if (is_known)
            FIGURE(figures, pipeline_needed, workers, orchestrator_pipeline_config(p)->name);
    }
}

static void add_pool(const struct monitor_origins *origins, struct figures *figures)
{
    const struct pool_shown shown = orchestrator_pool_shown(origins->pool);
    const uint32_t max[POOL_PLACES] = {
        [POOL_PLACE_POOL] = shown.bounds->max, [POOL_PLACE_HOST] = shown.bounds->host_max};
    FIGURE(figures, pool_min, shown.bounds->min, NULL);
    for (int place = 0; place < POOL_PLACES; place++) {
        FIGURE(figures, pool_target, shown.standing->targets[place],
               ORCHESTRATOR_POOL_PLACES[place]);
        FIGURE(figures, pool_max, max[place], ORCHESTRATOR_POOL_PLACES[place]);
    }
    add_members(shown.members, figures);
    add_needs(origins, shown.advice, figures);
}

/* ---- pipelines and their runs ---- */

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_SECOND;
}

static void add_tally(const struct run_tally *tally, const char *name, struct figures *figures)
{
    FIGURE(figures, evaluations, tally->evaluated, name);
    FIGURE(figures, runs, tally->done, name, "done");
    FIGURE(figures, runs, tally->failed, name, "failed");
    FIGURE(figures, run_retries, tally->retries, name);
    FIGURE(figures, samples_delivered, tally->samples, name);
    FIGURE(figures, samples_failed, tally->work.failed, name);
    FIGURE(figures, batches_delivered, tally->work.batches, name);
    FIGURE(figures, busy, seconds(tally->busy_ns), name);
    for (int stage = 0; stage < RUN_STAGES; stage++)
        FIGURE(figures, data_stall, seconds(tally->stalled_ns[stage]), name,
               orchestrator_run_stage_name((enum run_stage)stage));
    FIGURE(figures, worker_cpu, seconds(tally->work.cpu_ns), name);
    FIGURE(figures, read_bytes, tally->work.bytes_read, name);
    FIGURE(figures, sent_bytes, tally->work.bytes_sent, name);
}

static void add_pipelines(const struct monitor_origins *origins, struct figures *figures)
{
    for (const struct pipeline *p = origins->pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p)) {
        enum pipeline_state state = orchestrator_pipeline_state(p);
        const char *name = orchestrator_pipeline_config(p)->name;
        int64_t id = orchestrator_pipeline_id(p);
        if (state == PIPELINE_REMOVED)
            continue;
        FIGURE(figures, pipeline_state, 1, name, orchestrator_pipeline_state_name(state));
        FIGURE(figures, runs_in_flight, orchestrator_runs_in_flight(origins->runs, id), name);
        add_tally(orchestrator_tally_of(&origins->runs->tallies, id), name, figures);
    }
}

static void add_slots(const struct arbiter *arbiter, struct figures *figures)
{
    const struct arbiter_view view = orchestrator_arbiter_look(arbiter);
    FIGURE(figures, trainer_slots, view.slots, NULL);
    FIGURE(figures, trainers_busy, view.busy, NULL);
    FIGURE(figures, runs_waiting, view.waiting, NULL);
    FIGURE(figures, gpus, view.gpus, NULL);
    FIGURE(figures, gpus_busy, view.gpus_busy, NULL);
}

void orchestrator_monitor_own(const struct monitor_origins *origins,
                              const struct orchestrator_supervisor *supervisor,
                              struct figures *figures)
{
    if (supervisor != NULL)
        add_processes(supervisor, figures);
    FIGURE(figures, service_up, 1, "orchestrator");
    FIGURE(figures, service_cpu, seconds(weir_cpu_ns()), "orchestrator");
    if (origins == NULL)
        return;
    double up_seconds = (double)(weir_now_ms() - origins->started_ms) / 1000;
    FIGURE(figures, uptime, up_seconds, NULL);
    FIGURE(figures, service_uptime, up_seconds, "orchestrator");
    FIGURE(figures, service_turn, seconds(weir_loop_longest_turn_ns(origins->context->loop)),
           "orchestrator");
    FIGURE(figures, service_turned_away, weir_rpc_turned_away(origins->server), "orchestrator");
    FIGURE(figures, service_strangers, weir_rpc_strangers(origins->server), "orchestrator");
    FIGURE(figures, events, origins->context->events, NULL);
    FIGURE(figures, cache_limit, origins->context->cache_bytes, NULL);
    add_pipelines(origins, figures);
    add_slots(origins->runs->arbiter, figures);
    if (origins->pool != NULL)
        add_pool(origins, figures);
}
