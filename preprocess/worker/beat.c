/* The worker's beat: full state to the dispatcher, orders back. One is open at a time, so that
 * answers cannot overtake each other. */
#include "preprocess/worker/beat.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "preprocess/plan/fit.h"
#include "preprocess/worker/busy.h"
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/tasks.h"

enum { FITS_BYTES_MAX = 2 << 20 }; /* more partial fits wait for the next beat */

/* Forgets reasons that fail a run: they are reported once, for the cause may be mended when the job is opened again.
 * One that arose since the beat is not reported yet. */
static void forget_reported(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        bool is_reported = job->open && job->reason_sent;
        if (is_reported && job->plan.options.on_error.action == CFG_ON_ERROR_FAIL)
            job->reason[0] = '\0';
    }
}

/* Says so to whoever started it elsewhere: at the address that it tells, trainers find nobody. */
static void note_unreached(struct worker *worker, bool is_unreached)
{
    if (is_unreached && !worker->is_unreached)
        weir_log(WEIR_LOG_WARN, "a trainer cannot reach this worker, which makes nothing for it",
                 "endpoint=%s advice=\"trainers connect to workers: they must be let through to "
                 "this port, and --advertise must name this host as they know it\"",
                 weir_rpc_endpoint(worker->server));
    worker->is_unreached = is_unreached;
}

/* Lets in the trainers that the platform does. */
static void take_keys(const struct worker *worker, const struct msg_worker_orders *orders)
{
    struct weir_error err;
    const struct msg_keys_set keys = {
        .number = orders->keys,
        .publics = orders->key_publics,
        .names = orders->key_names,
        .roles = orders->key_roles,
        .tenants = orders->key_tenants,
    };
    if (weir_rpc_set_keys(worker->server, &keys, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "keys that came with orders are not taken", "reason=\"%s\"",
                 err.text);
}

/* Says once why it has nothing to do: a dispatcher that is not there comes back, and one that refuses it does not
 * change its mind by itself. */
static void note_refused(struct worker *worker, const struct weir_error *err)
{
    bool is_passing = err->status == WEIR_TIMEOUT || err->status == WEIR_UNAVAILABLE;
    bool is_news = !is_passing && worker->refused != err->status;
    if (is_news)
        weir_log(WEIR_LOG_WARN, "the platform refuses this worker, which has nothing to do",
                 "reason=\"%s\"", err->text);
    else
        weir_log(WEIR_LOG_DEBUG, "no orders, beating on", "reason=\"%s\"", err->text);
    if (is_news)
        worker->refused = err->status;
}

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker *worker = owner;
    worker->beat_open = false;
    if (reply == NULL) {
        note_refused(worker, err);
        return;
    }
    const struct msg_worker_orders *orders = reply->message;
    worker->refused = WEIR_OK;
    forget_reported(worker);
    worker->told_ms = worker->beat_ms;
    worker->reasons_known = worker->reasons_sent;
    worker->wipe = orders->wipe;
    note_unreached(worker, orders->unreached);
    take_keys(worker, orders);
    worker->pause_ms = orders->beat_ms < orders->lease_ms / 2 ? orders->beat_ms : 0;
    preprocess_flow_orders(&worker->flow, orders, worker->beat_ms);
    preprocess_worker_jobs_planned(worker, orders);
    preprocess_worker_free_discarded(worker);
    preprocess_worker_prepare(worker);
    preprocess_worker_pump_soon(worker);
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
        sent[count++] = preprocess_worker_lease_done(lease);
        if (lease->attempt == 0 && preprocess_worker_lease_done(lease) &&
            fits->size < FITS_BYTES_MAX)
            preprocess_fit_pack(lease->job, lease->group, lease->fence,
                                &preprocess_worker_task_of(worker, lease)->partial, fits);
    }
    beat->jobs = (struct weir_u64s){jobs, count};
    beat->groups = (struct weir_u64s){groups, count};
    beat->fences = (struct weir_u64s){fences, count};
    beat->sent = (struct weir_u32s){sent, count};
    beat->fits = weir_buf_view(fits);
}

/* ---- what it has spent ---- */

/* The columns as they grow: a row per job, and end to end for each of them its operators and the
 * samples that failed. */
struct costs {
    size_t jobs, operators, failures;
    uint64_t *job, *bytes_read, *bytes_sent, *shared, *operators_of, *failures_of;
    int64_t *cpu_ns, *read_ns, *queued_ns, *busy_ns;
    uint64_t *batches;
    uint64_t *kept_key, *kept_hits, *kept_misses, *kept_damaged;
    int64_t *kept_ns;
    const char **reason;
    int64_t *operator_ns;
    uint64_t *operator_taken, *operator_bytes, *operator_rows, *operator_kept;
    uint64_t *failed_id;
    const char **failed_reason;
};

static struct costs costs_with_room(struct weir_arena *arena)
{
    size_t rows = WORKER_JOBS_MAX * sizeof(uint64_t);
    size_t operators = rows * CHAIN_OPERATORS_MAX, failures = rows * FAILURES_MAX;
    return (struct costs){
        .job = weir_arena_alloc(arena, rows),
        .bytes_read = weir_arena_alloc(arena, rows),
        .bytes_sent = weir_arena_alloc(arena, rows),
        .shared = weir_arena_alloc(arena, rows),
        .operators_of = weir_arena_alloc(arena, rows),
        .failures_of = weir_arena_alloc(arena, rows),
        .cpu_ns = weir_arena_alloc(arena, rows),
        .read_ns = weir_arena_alloc(arena, rows),
        .queued_ns = weir_arena_alloc(arena, rows),
        .busy_ns = weir_arena_alloc(arena, rows),
        .batches = weir_arena_alloc(arena, rows),
        .kept_key = weir_arena_alloc(arena, rows),
        .kept_hits = weir_arena_alloc(arena, rows),
        .kept_misses = weir_arena_alloc(arena, rows),
        .kept_damaged = weir_arena_alloc(arena, rows),
        .kept_ns = weir_arena_alloc(arena, rows),
        .reason = weir_arena_alloc(arena, rows),
        .operator_ns = weir_arena_alloc(arena, operators),
        .operator_taken = weir_arena_alloc(arena, operators),
        .operator_bytes = weir_arena_alloc(arena, operators),
        .operator_rows = weir_arena_alloc(arena, operators),
        .operator_kept = weir_arena_alloc(arena, operators),
        .failed_id = weir_arena_alloc(arena, failures),
        .failed_reason = weir_arena_alloc(arena, failures),
    };
}

static void add_operators(const struct worker_job *job, struct costs *costs)
{
    size_t count = preprocess_chain_operators(job->plan.chain);
    costs->operators_of[costs->jobs] = count;
    costs->cpu_ns[costs->jobs] = job->cpu_ns;
    for (size_t i = 0; i < count; i++) {
        struct worker_spent spent = preprocess_worker_job_spent(job, i);
        size_t at = costs->operators++;
        costs->cpu_ns[costs->jobs] += spent.programs_ns;
        costs->operator_ns[at] = spent.ns;
        costs->operator_taken[at] = spent.taken;
        costs->operator_bytes[at] = spent.bytes;
        costs->operator_rows[at] = spent.rows;
        costs->operator_kept[at] = spent.kept;
    }
}

static void add_failures(const struct failures *failures, struct costs *costs)
{
    costs->failures_of[costs->jobs] = failures->count;
    for (size_t i = 0; i < failures->count; i++) {
        size_t at = costs->failures++;
        costs->failed_id[at] = failures->of[i].id;
        costs->failed_reason[at] = failures->of[i].reason;
    }
}

static void add_kept(const struct worker_job *job, struct costs *costs)
{
    uint64_t key = job->plan.keeps_records ? WEIR_CACHE_RECORDS : job->plan.kept_key;
    costs->kept_key[costs->jobs] = job->worker->kept != NULL ? key : 0;
    costs->kept_hits[costs->jobs] = job->kept.hits;
    costs->kept_misses[costs->jobs] = job->kept.misses;
    costs->kept_damaged[costs->jobs] = job->kept.damaged;
    costs->kept_ns[costs->jobs] = job->kept.read_ns;
}

static void add_job(const struct worker_job *job, struct costs *costs)
{
    add_operators(job, costs);
    add_failures(&job->failures, costs);
    add_kept(job, costs);
    size_t at = costs->jobs++;
    costs->job[at] = job->number;
    costs->bytes_read[at] = job->bytes_read;
    costs->bytes_sent[at] = job->bytes_sent;
    costs->shared[at] = job->shared;
    costs->read_ns[at] = job->read_ns;
    costs->queued_ns[at] = job->queued_ns;
    costs->busy_ns[at] = job->busy_ns;
    costs->batches[at] = job->batches;
    costs->reason[at] = job->reason;
}

/* Adds the costs of all jobs in use. */
static void add_costs(struct worker *worker, struct weir_arena *arena, struct msg_worker_beat *beat)
{
    struct costs costs = costs_with_room(arena);
    preprocess_worker_busy_look(worker);
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        job->reason_sent = job->open && job->reason[0] != '\0';
        if (job->open)
            add_job(job, &costs);
    }
    beat->stat_jobs = (struct weir_u64s){costs.job, costs.jobs};
    beat->stat_cpu_ns = (struct weir_i64s){costs.cpu_ns, costs.jobs};
    beat->stat_bytes_read = (struct weir_u64s){costs.bytes_read, costs.jobs};
    beat->stat_bytes_sent = (struct weir_u64s){costs.bytes_sent, costs.jobs};
    beat->stat_shared = (struct weir_u64s){costs.shared, costs.jobs};
    beat->stat_read_ns = (struct weir_i64s){costs.read_ns, costs.jobs};
    beat->stat_queued_ns = (struct weir_i64s){costs.queued_ns, costs.jobs};
    beat->stat_batches = (struct weir_u64s){costs.batches, costs.jobs};
    beat->stat_busy_ns = (struct weir_i64s){costs.busy_ns, costs.jobs};
    beat->stat_kept_keys = (struct weir_u64s){costs.kept_key, costs.jobs};
    beat->stat_kept_hits = (struct weir_u64s){costs.kept_hits, costs.jobs};
    beat->stat_kept_misses = (struct weir_u64s){costs.kept_misses, costs.jobs};
    beat->stat_kept_damaged = (struct weir_u64s){costs.kept_damaged, costs.jobs};
    beat->stat_kept_ns = (struct weir_i64s){costs.kept_ns, costs.jobs};
    beat->stat_reasons = (struct weir_strs){costs.reason, costs.jobs};
    beat->stat_operators = (struct weir_u64s){costs.operators_of, costs.jobs};
    beat->stat_operator_ns = (struct weir_i64s){costs.operator_ns, costs.operators};
    beat->stat_operator_taken = (struct weir_u64s){costs.operator_taken, costs.operators};
    beat->stat_operator_bytes = (struct weir_u64s){costs.operator_bytes, costs.operators};
    beat->stat_operator_rows = (struct weir_u64s){costs.operator_rows, costs.operators};
    beat->stat_operator_kept = (struct weir_u64s){costs.operator_kept, costs.operators};
    beat->stat_failures = (struct weir_u64s){costs.failures_of, costs.jobs};
    beat->failed_ids = (struct weir_u64s){costs.failed_id, costs.failures};
    beat->failed_reasons = (struct weir_strs){costs.failed_reason, costs.failures};
}

/* Adds the cost of the way to trainers. All that is not this thread's is spent on sockets. */
static void add_transport(const struct worker *worker, struct msg_worker_beat *beat)
{
    if (!preprocess_worker_uses_sockets(worker))
        return;
    int64_t own_ns = weir_cpu_thread_ns(); /* first: it is no more than what all have spent then */
    beat->socket_ns = weir_cpu_ns() - own_ns + worker->compress_ns;
    beat->socket_bytes = worker->socket_bytes;
    beat->lent_bytes = worker->lent_bytes;
}

/* ---- the beat ---- */

static bool is_due(const struct worker *worker, int64_t now_ms)
{
    bool is_idle = preprocess_flow_want(&worker->flow) > 0;
    int64_t pause_ms = is_idle ? WORKER_IDLE_BEAT_MS : WORKER_BEAT_MS;
    if (pause_ms < worker->pause_ms)
        pause_ms = worker->pause_ms;
    return !worker->beat_open && (worker->beat_due || now_ms - worker->beat_ms >= pause_ms);
}

void preprocess_worker_beat(struct worker *worker)
{
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    if (!is_due(worker, now_ms))
        return;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    WEIR_AUTO_BUF fits = {0};
    struct msg_worker_beat beat = {
        .worker = worker->name,
        .session = worker->flow.session,
        .endpoint = weir_rpc_address(worker->server),
        .want = preprocess_flow_want(&worker->flow),
        .queued = (uint32_t)worker->flow.ready_count,
        .place = worker->place,
        .wiped = weir_memory_wipes() ? worker->wiped : 0,
        .mismatches =
            preprocess_files_mismatches(preprocess_batch_maker_files(worker->batch_maker)),
        .keys = weir_rpc_keyring(worker->server)->number,
        .granted = preprocess_objects_tally(worker->objects).come,
        .refused = preprocess_objects_tally(worker->objects).refused,
    };
    add_leases(worker, arena, &fits, &beat);
    add_costs(worker, arena, &beat);
    add_transport(worker, &beat);
    preprocess_kept_probe_tell(&worker->probe, &beat);
    worker->beat_open = true;
    worker->beat_due = false;
    worker->beat_ms = now_ms;
    worker->reasons_sent = worker->reasons;
    weir_rpc_call(worker->dispatcher, MSG_worker_beat, &beat, WORKER_REQUEST_MS, on_orders, worker);
}
