/* The pool as the dispatcher knows it: workers by place, and the work on each run, counted for its pipeline. */
#include "orchestrator/monitoring/parts.h"

#include "orchestrator/pool/members.h"
#include "orchestrator/runs/run.h"

#include <string.h>

#define PER_MILLE 1000.0

/* Columns that are read here. */
static bool is_whole(const struct msg_workers_are *pool)
{
    size_t workers = pool->workers.count, jobs = pool->jobs.count;
    return pool->leases.count == workers && pool->queued.count == workers &&
           pool->stalled.count == jobs && pool->stages.count == jobs &&
           pool->job_bytes_read.count == jobs && pool->job_failed.count == jobs &&
           pool->job_cpu_ns.count == jobs && pool->job_bytes_sent.count == jobs &&
           pool->job_batches.count == jobs && pool->pipeline_workers.count == pool->pipelines.count;
}

/* One that is named otherwise was started by hand. */
static enum pool_place place_of(const char *worker)
{
    enum pool_place place = orchestrator_pool_place_of(worker);
    return place < POOL_PLACES ? place : POOL_PLACE_POOL;
}

static void add_workers(const struct msg_workers_are *pool, struct figures *figures)
{
    uint64_t workers[POOL_PLACES] = {0}, leases[POOL_PLACES] = {0}, queued[POOL_PLACES] = {0};
    for (size_t i = 0; i < pool->workers.count; i++) {
        enum pool_place place = place_of(pool->workers.at[i]);
        workers[place]++;
        leases[place] += pool->leases.at[i];
        queued[place] += pool->queued.at[i];
    }
    for (int place = 0; place < POOL_PLACES; place++) {
        const char *name = ORCHESTRATOR_POOL_PLACES[place];
        FIGURE(figures, workers, workers[place], name);
        FIGURE(figures, worker_leases, leases[place], name);
        FIGURE(figures, batches_queued, queued[place], name);
    }
}

static const char *name_of(const struct monitor_part *part, int64_t pipeline)
{
    const struct pipeline *found = orchestrator_pipeline_by_id(part->from->pipelines, pipeline);
    return found != NULL ? orchestrator_pipeline_config(found)->name : NULL;
}

static void add_pipelines(const struct msg_workers_are *pool, struct monitor_part *part)
{
    for (size_t i = 0; i < pool->pipelines.count; i++) {
        const char *name = name_of(part, (int64_t)pool->pipelines.at[i]);
        if (name != NULL)
            FIGURE(part->draft, pipeline_workers, pool->pipeline_workers.at[i], name);
    }
}

/* Largest stall of a run of a pipeline, for each stage. */
struct stalls {
    const char *name;
    uint32_t permille[RUN_STAGES];
};

static void note_stall(struct stalls *stalls, size_t *count, const char *name, const char *stage,
                       uint32_t permille)
{
    size_t i = 0;
    while (i < *count && strcmp(stalls[i].name, name) != 0)
        i++;
    if (i == *count)
        stalls[(*count)++] = (struct stalls){.name = name};
    uint32_t *most = &stalls[i].permille[orchestrator_run_stage_of(stage)];
    *most = permille > *most ? permille : *most;
}

static void add_stalls(const struct stalls *stalls, size_t count, struct figures *figures)
{
    for (size_t i = 0; i < count; i++)
        for (int stage = 0; stage < RUN_STAGES; stage++)
            FIGURE(figures, data_stall_ratio, stalls[i].permille[stage] / PER_MILLE, stalls[i].name,
                   orchestrator_run_stage_name((enum run_stage)stage));
}

static void add_jobs(const struct msg_workers_are *pool, struct weir_arena *arena,
                     struct monitor_part *part)
{
    struct runs *runs = part->from->runs;
    struct stalls *stalls = weir_arena_alloc(arena, (pool->jobs.count + 1) * sizeof(*stalls));
    size_t count = 0;
    for (size_t i = 0; i < pool->jobs.count; i++) {
        int64_t run = (int64_t)pool->jobs.at[i];
        orchestrator_run_worked(runs, run,
                                &(struct run_work){.cpu_ns = pool->job_cpu_ns.at[i],
                                                   .bytes_read = pool->job_bytes_read.at[i],
                                                   .bytes_sent = pool->job_bytes_sent.at[i],
                                                   .batches = pool->job_batches.at[i],
                                                   .failed = pool->job_failed.at[i]});
        const char *name = name_of(part, orchestrator_run_pipeline(runs, run));
        if (name != NULL)
            note_stall(stalls, &count, name, pool->stages.at[i], pool->stalled.at[i]);
    }
    add_stalls(stalls, count, part->draft);
}

static void on_workers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct monitor_part *part = owner;
    const struct msg_workers_are *pool = reply != NULL ? reply->message : NULL;
    (void)err;
    bool is_good = pool != NULL && is_whole(pool);
    if (is_good) {
        add_workers(pool, part->draft);
        add_pipelines(pool, part);
        add_jobs(pool, reply->arena, part);
    }
    orchestrator_monitor_part_end(part, is_good, is_good);
}

static void begin(struct monitor_part *part)
{
    weir_rpc_call(part->from->context->dispatcher, MSG_workers_request, NULL, MONITOR_REQUEST_MS,
                  on_workers, part);
}

static void forget(struct monitor_part *part)
{
    weir_rpc_forget(part->from->context->dispatcher, part);
}

const struct monitor_source ORCHESTRATOR_MONITOR_WORKERS = {
    .service = "dispatcher",
    .fresh_ms = MONITOR_FRESH_MS,
    .begin = begin,
    .forget = forget,
};
