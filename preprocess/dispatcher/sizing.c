/* The size of the pool: beats on their way to reports, and what came of them. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "preprocess/scale/recording.h"

#include <math.h>
#include <string.h>

/* ---- beats ---- */

void preprocess_dispatcher_note_making(struct dispatcher_entry *entry,
                                       const struct msg_worker_beat *beat, size_t row,
                                       enum scale_place place, int64_t now_ms)
{
    if (row >= beat->stat_batches.count || row >= beat->stat_busy_ns.count)
        return;
    preprocess_spans_make(&entry->scaling.spans, place,
                          &(struct spans_counters){.session = beat->session,
                                                   .batches = beat->stat_batches.at[row],
                                                   .ns = beat->stat_busy_ns.at[row],
                                                   .at_ms = now_ms});
}

static uint64_t population(struct weir_bytes bits)
{
    uint64_t count = 0;
    for (size_t i = 0; i < bits.size; i++)
        count += (uint64_t)__builtin_popcount(bits.at[i]);
    return count;
}

void preprocess_dispatcher_note_taking(struct dispatcher_entry *entry,
                                       const struct msg_client_beat *beat, int64_t now_ms)
{
    uint64_t consumed = population(beat->consumed), received = population(beat->received);
    preprocess_spans_take(&entry->scaling.spans, beat->rank,
                          &(struct spans_counters){.session = beat->session,
                                                   .batches = beat->oldest + consumed,
                                                   .ns = beat->wait_ns,
                                                   .at_ms = now_ms},
                          received > consumed ? (double)(received - consumed) : 0);
}

/* ---- jobs ---- */

/* True when somebody consumes it, or will soon. */
static bool is_used(const struct dispatcher_entry *entry, int64_t now_ms)
{
    const struct scaling_job *scaling = &entry->scaling;
    const struct dispatcher_job *job = &entry->job;
    if (entry->failure[0] != '\0' || entry->closing || job->record.final)
        return false;
    bool is_heard = job->fitting;
    for (uint32_t rank = 0; rank < entry->ranks; rank++)
        is_heard |= preprocess_rank_listens(&job->ranks[rank], now_ms);
    bool is_awaited = scaling->reports == scaling->reports_before &&
                      now_ms - scaling->seen_ms < SCALING_AWAITED_MS;
    return is_heard || is_awaited;
}

static struct spans_workers serving(const struct pool *pool, struct dispatcher_entry *entry,
                                    int64_t now_ms)
{
    struct spans_workers workers = {.sessions = 0};
    size_t first = preprocess_entry_crew(entry, pool);
    uint32_t bound = entry->account->quota.workers;
    for (size_t i = first; i < first + POOL_CREW && i < pool->count; i++) {
        const struct pool_worker *worker = &pool->worker[i];
        if (!preprocess_pool_is_heard(pool, i, now_ms) || worker->drains)
            continue;
        workers.at[worker->place]++;
        workers.sessions += worker->session;
    }
    if (bound > 0 && workers.at[SCALE_POOL] > bound)
        workers.at[SCALE_POOL] = bound;
    return workers;
}

/* Logs a line of the recorded run (recording.h). */
static void record(struct weir_buf *line)
{
    weir_log(WEIR_LOG_DEBUG, "scaling", "%s", weir_buf_text(line));
    weir_buf_clear(line);
}

static void record_decision(const struct dispatcher_entry *entry, struct recording_stamp stamp)
{
    WEIR_AUTO_BUF line = {0};
    preprocess_recording_decision(stamp, &entry->scaling.decision, &line);
    record(&line);
}

static void record_setting(const struct dispatcher_entry *entry, struct recording_stamp stamp)
{
    WEIR_AUTO_BUF line = {0};
    preprocess_recording_setting(stamp, entry->scaling.policy->name, &entry->scaling.setting,
                                 &line);
    record(&line);
}

/* Cost of the job so far, its operators in the order in which they run. */
static struct scale_counters counters_of(struct dispatcher *dispatcher,
                                         struct dispatcher_entry *entry, int64_t now_ms)
{
    const struct dispatcher_cost *total = &entry->costs.total;
    const uint8_t *order = preprocess_plans_of(&dispatcher->plans, entry, now_ms)->order;
    struct scale_counters counters = {
        .read_ns = (double)total->read_ns,
        .read_bytes = (double)total->bytes_read,
        .queued_ns = (double)total->queued_ns,
        .sent_bytes = (double)total->bytes_sent,
        .operator_count = preprocess_chain_operators(entry->plan.chain),
    };
    for (size_t i = 0; i < counters.operator_count; i++)
        counters.operators[i] = (struct ordering_cost){
            .ns = (double)total->of[order[i]].ns,
            .taken = (double)total->of[order[i]].taken,
            .made = (double)total->of[order[i]].bytes,
            .rows = (double)total->of[order[i]].rows,
            .kept = (double)total->of[order[i]].kept,
        };
    return counters;
}

static void record_report(const struct scale_report *report, const struct scale_counters *counters,
                          struct recording_stamp stamp)
{
    WEIR_AUTO_BUF line = {0};
    preprocess_recording_report(stamp, report, &line);
    record(&line);
    preprocess_recording_cost(stamp, counters, &line);
    record(&line);
}

static void decide(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                   const struct scale_setting *setting, const struct scale_report *report,
                   struct recording_stamp stamp)
{
    const struct scale_counters counters = counters_of(dispatcher, entry, stamp.at_ms);
    bool is_other = memcmp(setting, &entry->scaling.setting, sizeof(*setting)) != 0;
    preprocess_scaling_report(&entry->scaling, setting, report);
    preprocess_model_counters(&entry->scaling.model, &counters);
    if (is_other)
        record_setting(entry, stamp);
    record_report(report, &counters, stamp);
    record_decision(entry, stamp);
}

static uint32_t min_of(const struct dispatcher_entry *entry)
{
    return (uint32_t)entry->plan.options.plan.workers.min;
}

/* Takes in who serves the job, and whether its consumers have come to what these make. */
static void note_workers(const struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                         int64_t now_ms)
{
    struct scaling_job *job = &entry->scaling;
    const struct spans_workers workers = serving(&dispatcher->pool, entry, now_ms);
    if (workers.sessions != job->spans.workers.sessions)
        job->fence = entry->job.fences->newest;
    preprocess_spans_serve(&job->spans, &workers, now_ms);
    preprocess_spans_hold(
        &job->spans, entry->plan.in_order && preprocess_job_lags(&entry->job, job->fence), now_ms);
}

static void look_at_job(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                        int64_t now_ms)
{
    struct scaling_job *job = &entry->scaling;
    struct recording_stamp stamp = {.job = entry->number, .at_ms = now_ms};
    struct scale_report report;
    const struct scale_setting setting = preprocess_scaling_setting(
        &dispatcher->scaling, job, min_of(entry), entry->account->quota.workers);
    if (preprocess_scaling_begin(job, &setting)) {
        record_setting(entry, stamp);
        record_decision(entry, stamp);
    }
    note_workers(dispatcher, entry, now_ms);
    if (preprocess_spans_end(&job->spans, now_ms, &report))
        decide(dispatcher, entry, &setting, &report, stamp);
}

/* ---- the pool ---- */

static void note_use(struct dispatcher *dispatcher, struct dispatcher_entry *entry, int64_t now_ms)
{
    struct scaling_job *job = &entry->scaling;
    bool was_used = job->is_used;
    job->seen_ms = job->seen_ms != 0 ? job->seen_ms : now_ms;
    job->is_used = is_used(entry, now_ms);
    if (was_used && !job->is_used)
        preprocess_dispatcher_end_use(dispatcher, entry);
}

void preprocess_dispatcher_end_use(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct scaling_job *job = &entry->scaling;
    preprocess_division_close(&dispatcher->scaling.division, job->given,
                              weir_loop_now_ms(dispatcher->loop));
    job->given = 0;
    job->is_used = false;
}

static struct division_job part_of(const struct dispatcher_entry *entry)
{
    const struct shares_quota *quota = &entry->account->quota;
    return (struct division_job){
        .pipeline = quota->pipeline,
        .share = quota->share,
        .min = min_of(entry),
        .max = quota->workers,
        .asked = preprocess_division_asked(&entry->scaling.decision),
        .is_new = entry->scaling.reports == 0,
    };
}

static struct division_bounds bounds_of(const struct scaling *scaling)
{
    return scaling->is_ordered ? scaling->bounds
                               : (struct division_bounds){.max = SCALE_WORKERS_MAX};
}

static void divide(struct dispatcher *dispatcher, struct weir_arena *arena, int64_t now_ms)
{
    struct scaling *scaling = &dispatcher->scaling;
    struct division_job *parts =
        weir_arena_alloc(arena, (dispatcher->entry_count + 1) * sizeof(*parts));
    const struct division_bounds bounds = bounds_of(scaling);
    size_t count = 0;
    uint64_t host = 0;
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        const struct dispatcher_entry *entry = dispatcher->entries[i];
        if (!entry->scaling.is_used)
            continue;
        parts[count++] = part_of(entry);
        host += entry->scaling.decision.size.at[SCALE_HOST];
    }
    scaling->workers =
        preprocess_division_divide(&scaling->division, &bounds, parts, count, now_ms);
    scaling->host = host < scaling->host_max ? (uint32_t)host : scaling->host_max;
    count = 0;
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (dispatcher->entries[i]->scaling.is_used)
            dispatcher->entries[i]->scaling.given = parts[count++].given;
    }
}

void preprocess_dispatcher_size(struct dispatcher *dispatcher)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        struct dispatcher_entry *entry = dispatcher->entries[i];
        note_use(dispatcher, entry, now_ms);
        if (entry->scaling.is_used)
            look_at_job(dispatcher, entry, now_ms);
    }
    divide(dispatcher, arena, now_ms);
}

/* ---- shown ---- */

uint32_t preprocess_permille(double value)
{
    double most = UINT32_MAX;
    double rounded = floor(value * 1000 + 0.5);
    return rounded < most ? (uint32_t)(rounded > 0 ? rounded : 0) : UINT32_MAX;
}

/* The sizes that the policies have weighed. */
static void show_options(const struct dispatcher *dispatcher, struct weir_arena *arena,
                         struct msg_pool_is *answer)
{
    size_t jobs = dispatcher->entry_count, room = (jobs + 1) * sizeof(uint32_t), count = 0;
    uint32_t *options = weir_arena_alloc(arena, room);
    uint32_t *workers = weir_arena_alloc(arena, room * SCALE_OPTIONS_MAX);
    uint32_t *hosts = weir_arena_alloc(arena, room * SCALE_OPTIONS_MAX);
    uint32_t *rates = weir_arena_alloc(arena, room * SCALE_OPTIONS_MAX);
    for (size_t i = 0; i < jobs; i++) {
        const struct scaling_job *job = &dispatcher->entries[i]->scaling;
        options[i] = job->is_used ? (uint32_t)job->decision.option_count : 0;
        for (size_t k = 0; k < options[i]; k++) {
            const struct scale_option *option = &job->decision.options[k];
            workers[count] = option->size.at[SCALE_POOL];
            hosts[count] = option->size.at[SCALE_HOST];
            rates[count++] = option->batch_s > 0 ? preprocess_permille(1 / option->batch_s) : 0;
        }
    }
    answer->options = (struct weir_u32s){options, jobs};
    answer->option_workers = (struct weir_u32s){workers, count};
    answer->option_hosts = (struct weir_u32s){hosts, count};
    answer->option_rates = (struct weir_u32s){rates, count};
}

void preprocess_dispatcher_show_sizes(const struct dispatcher *dispatcher, struct weir_arena *arena,
                                      struct msg_pool_is *answer)
{
    size_t count = dispatcher->entry_count, room = (count + 1) * sizeof(uint64_t);
    uint64_t *jobs = weir_arena_alloc(arena, room), *reports = weir_arena_alloc(arena, room);
    const char **policies = weir_arena_alloc(arena, room), **why = weir_arena_alloc(arena, room);
    uint32_t *sizes = weir_arena_alloc(arena, room), *hosts = weir_arena_alloc(arena, room);
    uint32_t *needs = weir_arena_alloc(arena, room), *given = weir_arena_alloc(arena, room);
    uint32_t *wanted = weir_arena_alloc(arena, room), *made = weir_arena_alloc(arena, room);
    uint32_t *stalled = weir_arena_alloc(arena, room), *settled = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < count; i++) {
        const struct scaling_job *job = &dispatcher->entries[i]->scaling;
        const struct scale_decision *decision = &job->decision;
        jobs[i] = dispatcher->entries[i]->number;
        policies[i] = job->policy->name;
        why[i] = decision->why != NULL ? decision->why : "";
        sizes[i] = job->is_used ? decision->size.at[SCALE_POOL] : 0;
        hosts[i] = job->is_used ? decision->size.at[SCALE_HOST] : 0;
        needs[i] = job->is_used ? preprocess_permille(preprocess_scaling_need(job)) : 0;
        given[i] = preprocess_permille(job->given);
        wanted[i] = preprocess_permille(job->wanted);
        made[i] = preprocess_permille(job->made);
        stalled[i] = preprocess_permille(job->stalled);
        reports[i] = job->reports;
        settled[i] = decision->is_settled;
    }
    answer->workers = dispatcher->scaling.workers;
    answer->host = dispatcher->scaling.host;
    answer->jobs = (struct weir_u64s){jobs, count};
    answer->policies = (struct weir_strs){policies, count};
    answer->why = (struct weir_strs){why, count};
    answer->sizes = (struct weir_u32s){sizes, count};
    answer->host_sizes = (struct weir_u32s){hosts, count};
    answer->needs = (struct weir_u32s){needs, count};
    answer->given = (struct weir_u32s){given, count};
    answer->wanted = (struct weir_u32s){wanted, count};
    answer->made = (struct weir_u32s){made, count};
    answer->stalled = (struct weir_u32s){stalled, count};
    answer->reports = (struct weir_u64s){reports, count};
    answer->settled = (struct weir_u32s){settled, count};
}

/* ---- draining ---- */

static bool holds_anything(const struct dispatcher *dispatcher, size_t slot, int64_t now_ms)
{
    const struct pool_worker *worker = &dispatcher->pool.worker[slot];
    bool holds = worker->leases > 0;
    for (size_t i = 0; !holds && i < dispatcher->entry_count; i++)
        holds = preprocess_job_holds(&dispatcher->entries[i]->job, (uint32_t)slot, worker->session,
                                     now_ms);
    return holds;
}

/* Names of the workers that are to end, and may. */
static struct weir_strs drained(const struct dispatcher *dispatcher, int64_t now_ms,
                                struct weir_arena *arena)
{
    const struct scaling *scaling = &dispatcher->scaling;
    const char **names = weir_arena_alloc(arena, (scaling->drain_count + 1) * sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < scaling->drain_count; i++) {
        int slot = preprocess_pool_slot(&dispatcher->pool, scaling->drains[i]);
        bool is_here =
            slot >= 0 && preprocess_pool_is_heard(&dispatcher->pool, (size_t)slot, now_ms);
        if (!is_here || !holds_anything(dispatcher, (size_t)slot, now_ms))
            names[count++] = scaling->drains[i];
    }
    return (struct weir_strs){names, count};
}

static void mark_drains(struct dispatcher *dispatcher)
{
    struct pool *pool = &dispatcher->pool;
    for (size_t i = 0; i < pool->count; i++)
        pool->worker[i].drains =
            pool->worker[i].name != NULL &&
            preprocess_scaling_drains(&dispatcher->scaling, pool->worker[i].name);
}

enum weir_status preprocess_dispatcher_order_pool(struct dispatcher *dispatcher,
                                                  const struct msg_pool_order *order,
                                                  struct weir_arena *arena,
                                                  struct msg_pool_is *ret_answer,
                                                  struct weir_error *err)
{
    enum weir_status status = preprocess_scaling_order(&dispatcher->scaling, order, err);
    if (status != WEIR_OK)
        return status;
    mark_drains(dispatcher);
    preprocess_dispatcher_size(dispatcher);
    preprocess_dispatcher_show_sizes(dispatcher, arena, ret_answer);
    show_options(dispatcher, arena, ret_answer);
    ret_answer->drained = drained(dispatcher, weir_loop_now_ms(dispatcher->loop), arena);
    return WEIR_OK;
}
