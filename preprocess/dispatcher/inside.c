/* The pool as shown to people: workers and their jobs, costs, and the stages that trainers wait for. */
#include "preprocess/dispatcher/dispatcher.h"

enum { SHOWN_MAX = 1000 /* workers */ };

/* ---- workers ---- */

/* Slots of the workers that are shown, in slot order. */
static size_t shown(const struct dispatcher *dispatcher, struct weir_arena *arena,
                    const struct pool_worker ***ret_workers)
{
    const struct pool *pool = &dispatcher->pool;
    const struct pool_worker **workers = weir_arena_alloc(arena, SHOWN_MAX * sizeof(*workers));
    size_t count = 0;
    for (size_t i = 0; i < pool->count && count < SHOWN_MAX; i++) {
        if (preprocess_pool_is_heard(pool, i, weir_loop_now_ms(dispatcher->loop)))
            workers[count++] = &pool->worker[i];
    }
    *ret_workers = workers;
    return count;
}

static void describe_workers(const struct pool_worker *const *workers, size_t count, int64_t now_ms,
                             struct weir_arena *arena, struct msg_workers_are *answer)
{
    size_t room = (count + 1) * sizeof(uint64_t);
    const char **names = weir_arena_alloc(arena, room);
    uint64_t *leases = weir_arena_alloc(arena, room), *sent = weir_arena_alloc(arena, room);
    uint64_t *read = weir_arena_alloc(arena, room);
    int64_t *cpu_ns = weir_arena_alloc(arena, room);
    uint32_t *queued = weir_arena_alloc(arena, room);
    uint64_t *mismatches = weir_arena_alloc(arena, room);
    uint32_t *unreached = weir_arena_alloc(arena, room);
    uint64_t *granted = weir_arena_alloc(arena, room), *refused = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < count; i++) {
        names[i] = workers[i]->name;
        leases[i] = workers[i]->leases;
        cpu_ns[i] = workers[i]->cpu_ns;
        sent[i] = workers[i]->bytes_sent;
        read[i] = workers[i]->bytes_read;
        queued[i] = workers[i]->queued;
        mismatches[i] = workers[i]->mismatches;
        granted[i] = workers[i]->granted;
        refused[i] = workers[i]->refused;
        unreached[i] = preprocess_pool_is_unreached(workers[i], now_ms);
    }
    answer->workers = (struct weir_strs){names, count};
    answer->leases = (struct weir_u64s){leases, count};
    answer->cpu_ns = (struct weir_i64s){cpu_ns, count};
    answer->bytes_sent = (struct weir_u64s){sent, count};
    answer->bytes_read = (struct weir_u64s){read, count};
    answer->queued = (struct weir_u32s){queued, count};
    answer->mismatches = (struct weir_u64s){mismatches, count};
    answer->unreached = (struct weir_u32s){unreached, count};
    answer->granted = (struct weir_u64s){granted, count};
    answer->refused = (struct weir_u64s){refused, count};
}

/* ---- operators ---- */

/* The columns as they grow. */
struct operators {
    uint32_t *workers;
    uint64_t *jobs, *taken, *bytes;
    const char **names;
    int64_t *ns;
    size_t count;
};

static void add_operators(struct operators *operators, const struct dispatcher_entry *entry,
                          const struct dispatcher_cost *cost, uint32_t worker)
{
    for (size_t i = 0; i < preprocess_chain_operators(entry->plan.chain); i++) {
        size_t at = operators->count++;
        operators->workers[at] = worker;
        operators->jobs[at] = entry->number;
        operators->names[at] = preprocess_chain_cost(entry->plan.chain, i).name;
        operators->ns[at] = cost->of[i].ns;
        operators->taken[at] = cost->of[i].taken;
        operators->bytes[at] = cost->of[i].bytes;
    }
}

static void add_entry(struct operators *operators, const struct dispatcher_entry *entry,
                      const struct pool_worker *const *workers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t index = preprocess_costs_find(&entry->costs, workers[i]->session);
        if (index < entry->costs.count) {
            const struct dispatcher_cost cost = preprocess_costs_at(&entry->costs, index);
            add_operators(operators, entry, &cost, (uint32_t)i);
        }
    }
}

/* Returns the number of rows that add_entry() adds: workers that name the same session have the same costs each. */
static size_t rows_of(const struct dispatcher_entry *entry,
                      const struct pool_worker *const *workers, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += preprocess_costs_find(&entry->costs, workers[i]->session) < entry->costs.count;
    return known * preprocess_chain_operators(entry->plan.chain);
}

static void describe_operators(const struct dispatcher *dispatcher,
                               const struct pool_worker *const *workers, size_t count,
                               struct weir_arena *arena, struct msg_workers_are *answer)
{
    size_t rows = 1;
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        rows += rows_of(dispatcher->entries[i], workers, count);
    size_t room = rows * sizeof(uint64_t);
    struct operators operators = {
        .workers = weir_arena_alloc(arena, room),
        .jobs = weir_arena_alloc(arena, room),
        .taken = weir_arena_alloc(arena, room),
        .bytes = weir_arena_alloc(arena, room),
        .names = weir_arena_alloc(arena, room),
        .ns = weir_arena_alloc(arena, room),
    };
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        add_entry(&operators, dispatcher->entries[i], workers, count);
    answer->operator_workers = (struct weir_u32s){operators.workers, operators.count};
    answer->operator_jobs = (struct weir_u64s){operators.jobs, operators.count};
    answer->operators = (struct weir_strs){operators.names, operators.count};
    answer->operator_ns = (struct weir_i64s){operators.ns, operators.count};
    answer->operator_taken = (struct weir_u64s){operators.taken, operators.count};
    answer->operator_bytes = (struct weir_u64s){operators.bytes, operators.count};
}

/* ---- jobs ---- */

static void describe_jobs(const struct dispatcher *dispatcher, struct weir_arena *arena,
                          struct msg_workers_are *answer)
{
    size_t count = dispatcher->entry_count, room = (count + 1) * sizeof(uint64_t);
    uint64_t *jobs = weir_arena_alloc(arena, room);
    uint32_t *stalled = weir_arena_alloc(arena, room);
    const char **stages = weir_arena_alloc(arena, room);
    int64_t *read_ns = weir_arena_alloc(arena, room);
    uint64_t *read = weir_arena_alloc(arena, room), *failed = weir_arena_alloc(arena, room);
    const char **reasons = weir_arena_alloc(arena, room);
    int64_t *cpu_ns = weir_arena_alloc(arena, room);
    uint64_t *sent = weir_arena_alloc(arena, room), *batches = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < count; i++) {
        const struct dispatcher_entry *entry = dispatcher->entries[i];
        const struct dispatcher_cost *total = &entry->costs.total;
        failed[i] = preprocess_entry_failed(entry);
        reasons[i] = preprocess_entry_reason(entry);
        read_ns[i] = total->read_ns;
        read[i] = total->bytes_read;
        cpu_ns[i] = total->cpu_ns;
        sent[i] = total->bytes_sent;
        batches[i] = preprocess_entry_consumed(entry);
        jobs[i] = entry->number;
        const struct stages *known = &entry->stages;
        bool is_known = preprocess_stages_are_known(known, weir_loop_now_ms(dispatcher->loop));
        stalled[i] = is_known ? known->stall_permille : 0;
        stages[i] = is_known ? preprocess_stages_name(known) : "";
    }
    answer->jobs = (struct weir_u64s){jobs, count};
    answer->stalled = (struct weir_u32s){stalled, count};
    answer->stages = (struct weir_strs){stages, count};
    answer->read_ns = (struct weir_i64s){read_ns, count};
    answer->job_bytes_read = (struct weir_u64s){read, count};
    answer->job_failed = (struct weir_u64s){failed, count};
    answer->job_reasons = (struct weir_strs){reasons, count};
    answer->job_cpu_ns = (struct weir_i64s){cpu_ns, count};
    answer->job_bytes_sent = (struct weir_u64s){sent, count};
    answer->job_batches = (struct weir_u64s){batches, count};
}

/* Says how each job is scaled. */
static void describe_sizes(const struct dispatcher *dispatcher, struct weir_arena *arena,
                           struct msg_workers_are *answer)
{
    struct msg_pool_is sizes = {0};
    preprocess_dispatcher_show_sizes(dispatcher, arena, &sizes);
    answer->job_policies = sizes.policies;
    answer->job_whys = sizes.why;
    answer->job_sizes = sizes.sizes;
    answer->job_host_sizes = sizes.host_sizes;
    answer->job_needs = sizes.needs;
    answer->job_given = sizes.given;
    answer->job_wanted = sizes.wanted;
    answer->job_made = sizes.made;
    answer->job_stalled = sizes.stalled;
    answer->job_reports = sizes.reports;
    answer->job_settled = sizes.settled;
}

/* ---- pipelines ---- */

static void describe_pipelines(const struct shares *shares, struct weir_arena *arena,
                               struct msg_workers_are *answer)
{
    size_t count = shares->count, room = (count + 1) * sizeof(uint64_t);
    uint64_t *pipelines = weir_arena_alloc(arena, room);
    uint32_t *parts = weir_arena_alloc(arena, room), *bounds = weir_arena_alloc(arena, room);
    uint32_t *workers = weir_arena_alloc(arena, room), *leases = weir_arena_alloc(arena, room);
    int64_t *cpu_ns = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < count; i++) {
        const struct shares_account *account = shares->accounts[i];
        pipelines[i] = account->quota.pipeline;
        parts[i] = (uint32_t)(account->quota.share * 1000 + 0.5);
        bounds[i] = account->quota.workers;
        workers[i] = (uint32_t)account->holder_count;
        leases[i] = account->out;
        cpu_ns[i] = account->cpu_ns;
    }
    answer->pipelines = (struct weir_u64s){pipelines, count};
    answer->pipeline_shares = (struct weir_u32s){parts, count};
    answer->pipeline_bounds = (struct weir_u32s){bounds, count};
    answer->pipeline_workers = (struct weir_u32s){workers, count};
    answer->pipeline_leases = (struct weir_u32s){leases, count};
    answer->pipeline_cpu_ns = (struct weir_i64s){cpu_ns, count};
}

void preprocess_dispatcher_on_workers_request(void *state, struct weir_request *request)
{
    const struct dispatcher *dispatcher = state;
    const struct pool_worker **workers;
    struct msg_workers_are answer = {0};
    size_t count = shown(dispatcher, request->arena, &workers);
    describe_workers(workers, count, weir_loop_now_ms(dispatcher->loop), request->arena, &answer);
    describe_operators(dispatcher, workers, count, request->arena, &answer);
    describe_jobs(dispatcher, request->arena, &answer);
    describe_sizes(dispatcher, request->arena, &answer);
    describe_pipelines(&dispatcher->shares, request->arena, &answer);
    weir_rpc_reply(request->server, &request->route, MSG_workers_are, &answer, NULL);
}
