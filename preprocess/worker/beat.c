/* The worker's beat: full state to the dispatcher, orders back. One is open at a time, so that
 * answers cannot overtake each other. */
#include "preprocess/worker/worker.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "preprocess/fit.h"

enum { FITS_BYTES_MAX = 2 << 20 }; /* behind so many, partial fits wait for the next beat */

/* What fails a run is told once: when its job is opened again, it may have been mended. */
static void forget_told(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        if (job->open && job->plan.options.on_error == PREPROCESS_FAIL)
            job->reason[0] = '\0';
    }
}

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker *worker = owner;
    worker->beat_open = false;
    if (reply == NULL || reply->type != MSG_worker_orders) {
        weir_log(WEIR_LOG_DEBUG, "no orders, beating on", "reason=\"%s\"",
                 err != NULL ? err->text : "another answer than expected");
        return;
    }
    const struct msg_worker_orders *orders = reply->message;
    forget_told(worker);
    worker->pause_ms = orders->beat_ms < orders->lease_ms / 2 ? orders->beat_ms : 0;
    worker_flow_orders(&worker->flow, orders, worker->beat_ms);
    worker_free_discarded(worker);
    worker_prepare(worker);
    worker_pump_soon(worker);
}

/* Columns of the leases it holds, and the partial fits that are done. */
static void add_leases(struct worker *worker, struct weir_arena *arena, struct weir_buf *fits,
                       struct msg_worker_beat *beat)
{
    size_t room = WORKER_LEASES_MAX * sizeof(uint64_t), count = 0;
    uint64_t *jobs = weir_arena_alloc(arena, room);
    uint64_t *groups = weir_arena_alloc(arena, room);
    uint64_t *fences = weir_arena_alloc(arena, room);
    uint32_t *sent = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &worker->flow.leases[i];
        if (lease->fence == 0)
            continue;
        jobs[count] = lease->job;
        groups[count] = lease->group;
        fences[count] = lease->fence;
        sent[count++] = worker_lease_done(lease);
        if (lease->attempt == 0 && worker_lease_done(lease) && fits->size < FITS_BYTES_MAX)
            preprocess_fit_pack(lease->job, lease->group, lease->fence,
                                &worker_task_of(worker, lease)->partial, fits);
    }
    beat->jobs = (struct weir_u64s){jobs, count};
    beat->groups = (struct weir_u64s){groups, count};
    beat->fences = (struct weir_u64s){fences, count};
    beat->sent = (struct weir_u32s){sent, count};
    beat->fits = weir_buf_view(fits);
}

/* Samples that failed, of one job after the other. */
struct failed {
    uint64_t *ids;
    const char **reasons;
    size_t count;
};

static uint64_t add_failures(const struct failures *failures, struct failed *failed)
{
    for (size_t i = 0; i < failures->count; i++) {
        failed->ids[failed->count] = failures->of[i].id;
        failed->reasons[failed->count++] = failures->of[i].reason;
    }
    return failures->count;
}

/* Columns of what it has spent on the jobs in use. */
static void add_costs(const struct worker *worker, struct weir_arena *arena,
                      struct msg_worker_beat *beat)
{
    size_t rows = WORKER_JOBS_MAX * sizeof(uint64_t), cells = rows * CHAIN_OPERATORS_MAX;
    uint64_t *jobs = weir_arena_alloc(arena, rows), *read = weir_arena_alloc(arena, rows);
    int64_t *cpu_ns = weir_arena_alloc(arena, rows);
    uint64_t *sent = weir_arena_alloc(arena, rows), *operators = weir_arena_alloc(arena, rows);
    int64_t *operator_ns = weir_arena_alloc(arena, cells);
    uint64_t *operator_bytes = weir_arena_alloc(arena, cells);
    uint64_t *operator_taken = weir_arena_alloc(arena, cells);
    int64_t *read_ns = weir_arena_alloc(arena, rows), *queued_ns = weir_arena_alloc(arena, rows);
    const char **reasons = weir_arena_alloc(arena, rows);
    uint64_t *failures = weir_arena_alloc(arena, rows);
    struct failed failed = {weir_arena_alloc(arena, rows * FAILURES_MAX),
                            weir_arena_alloc(arena, rows * FAILURES_MAX), 0};
    size_t count = 0, cell = 0;
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        const struct worker_job *job = &worker->jobs[i];
        if (!job->open)
            continue;
        jobs[count] = job->number;
        cpu_ns[count] = job->cpu_ns;
        read[count] = job->bytes_read;
        sent[count] = job->bytes_sent;
        read_ns[count] = job->read_ns;
        queued_ns[count] = job->queued_ns;
        reasons[count] = job->reason;
        failures[count] = add_failures(&job->failures, &failed);
        operators[count++] = chain_operators(job->plan.chain);
        for (size_t k = 0; k < chain_operators(job->plan.chain); k++) {
            struct chain_cost cost = chain_cost(job->plan.chain, k);
            operator_ns[cell] = cost.cpu_ns;
            operator_taken[cell] = cost.taken;
            operator_bytes[cell++] = cost.bytes;
        }
    }
    beat->stat_jobs = (struct weir_u64s){jobs, count};
    beat->stat_cpu_ns = (struct weir_i64s){cpu_ns, count};
    beat->stat_bytes_read = (struct weir_u64s){read, count};
    beat->stat_bytes_sent = (struct weir_u64s){sent, count};
    beat->stat_read_ns = (struct weir_i64s){read_ns, count};
    beat->stat_queued_ns = (struct weir_i64s){queued_ns, count};
    beat->stat_reasons = (struct weir_strs){reasons, count};
    beat->stat_failures = (struct weir_u64s){failures, count};
    beat->failed_ids = (struct weir_u64s){failed.ids, failed.count};
    beat->failed_reasons = (struct weir_strs){failed.reasons, failed.count};
    beat->stat_operators = (struct weir_u64s){operators, count};
    beat->stat_operator_ns = (struct weir_i64s){operator_ns, cell};
    beat->stat_operator_bytes = (struct weir_u64s){operator_bytes, cell};
    beat->stat_operator_taken = (struct weir_u64s){operator_taken, cell};
}

static bool is_due(const struct worker *worker, int64_t now_ms)
{
    bool is_idle = worker_flow_want(&worker->flow) > 0;
    int64_t pause_ms = is_idle ? WORKER_IDLE_BEAT_MS : WORKER_BEAT_MS;
    if (pause_ms < worker->pause_ms)
        pause_ms = worker->pause_ms;
    return !worker->beat_open && (worker->beat_due || now_ms - worker->beat_ms >= pause_ms);
}

void worker_beat(struct worker *worker)
{
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    if (!is_due(worker, now_ms))
        return;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    WEIR_AUTO_BUF fits = {0};
    struct msg_worker_beat beat = {
        .worker = worker->name,
        .session = worker->flow.session,
        .endpoint = weir_rpc_endpoint(worker->server),
        .want = worker_flow_want(&worker->flow),
        .queued = (uint32_t)worker->flow.ready_count,
    };
    add_leases(worker, arena, &fits, &beat);
    add_costs(worker, arena, &beat);
    worker->beat_open = true;
    worker->beat_due = false;
    worker->beat_ms = now_ms;
    weir_rpc_call(worker->dispatcher, MSG_worker_beat, &beat, WORKER_ASK_MS, on_orders, worker);
}
