/* The beat of a worker: what it has spent, what it has fitted, and what it gets. And its last word. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "preprocess/dispatcher/keys.h"

#include <stdlib.h>
#include <string.h>

/* All are cumulative: nobody has spent less than nothing, or more than sums hold. */
static bool can_be_spent(const struct msg_worker_beat *beat)
{
    const struct weir_i64s columns[] = {beat->stat_cpu_ns,
                                        beat->stat_operator_ns,
                                        beat->stat_read_ns,
                                        beat->stat_queued_ns,
                                        beat->stat_kept_ns,
                                        beat->stat_busy_ns,
                                        (struct weir_i64s){&beat->socket_ns, 1}};
    for (size_t i = 0; i < WEIR_COUNT(columns); i++)
        for (size_t k = 0; k < columns[i].count; k++)
            if (!weir_can_be_spent(columns[i].at[k]))
                return false;
    return true;
}

static enum weir_status check(const struct msg_worker_beat *beat, struct weir_error *err)
{
    size_t name = strlen(beat->worker), endpoint = strlen(beat->endpoint);
    if (name > POOL_TEXT_MAX || endpoint > POOL_TEXT_MAX) /* they are kept */
        return weir_fail(err, WEIR_INVALID,
                         "worker_beat: found a name of %zu characters and an endpoint of %zu, "
                         "expected at most %d",
                         name, endpoint, POOL_TEXT_MAX);
    size_t leases = beat->jobs.count, stats = beat->stat_jobs.count;
    bool is_consistent = beat->session != 0 && beat->worker[0] != '\0' &&
                         beat->groups.count == leases && beat->fences.count == leases &&
                         beat->sent.count == leases && beat->stat_cpu_ns.count == stats &&
                         beat->stat_bytes_read.count == stats &&
                         beat->stat_bytes_sent.count == stats &&
                         beat->stat_reasons.count == stats && beat->stat_failures.count == stats &&
                         beat->failed_ids.count == beat->failed_reasons.count &&
                         beat->stat_operators.count == stats &&
                         beat->stat_operator_ns.count == beat->stat_operator_bytes.count;
    if (is_consistent && can_be_spent(beat))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "worker_beat of '%s': expected a name, a session, columns of equal length and "
                     "times that can have been spent",
                     beat->worker);
}

/* Returns the job that the sender may work for, or NULL: it is not in memory, or another tenant's. */
static struct dispatcher_entry *find_job(struct dispatcher *dispatcher,
                                         const struct weir_request *request, uint64_t job)
{
    struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, job);
    bool is_its_own =
        entry != NULL && preprocess_dispatcher_may_make(weir_rpc_sender(request), entry->tenant);
    return is_its_own ? entry : NULL;
}

/* ---- what it has spent ---- */

/* Returns what a worker has spent on the way to trainers since its last beat. */
static struct placement_transport transport_of(const struct msg_worker_beat *beat,
                                               struct pool_worker *worker)
{
    struct placement_transport transport = {0};
    if (beat->socket_ns >= worker->socket_ns && beat->socket_bytes >= worker->socket_bytes &&
        beat->lent_bytes >= worker->lent_bytes)
        transport = (struct placement_transport){
            .ns = (double)(beat->socket_ns - worker->socket_ns),
            .bytes = (double)(beat->socket_bytes - worker->socket_bytes),
            .lent = (double)(beat->lent_bytes - worker->lent_bytes),
        };
    worker->socket_ns = beat->socket_ns;
    worker->socket_bytes = beat->socket_bytes;
    worker->lent_bytes = beat->lent_bytes;
    return transport;
}

/* Takes in the use of rows that are kept, after the cost of the operators is. */
static void note_kept(struct dispatcher_entry *entry, const struct msg_worker_beat *beat,
                      size_t row, const struct dispatcher_cost *before,
                      struct dispatcher_cost *cost)
{
    struct dispatcher_kept *kept = &cost->kept;
    if (row >= beat->stat_kept_keys.count || row >= beat->stat_kept_hits.count ||
        row >= beat->stat_kept_misses.count || row >= beat->stat_kept_damaged.count ||
        row >= beat->stat_kept_ns.count || beat->stat_kept_keys.at[row] == 0)
        return;
    kept->key = beat->stat_kept_keys.at[row];
    kept->hits = beat->stat_kept_hits.at[row];
    kept->misses = beat->stat_kept_misses.at[row];
    kept->damaged = beat->stat_kept_damaged.at[row];
    kept->read_ns = beat->stat_kept_ns.at[row];
    for (size_t i = 0; i < preprocess_entry_cut(entry); i++)
        kept->made_ns = weir_plus(kept->made_ns, cost->of[i].ns - before->of[i].ns);
}

static void note_operator(const struct msg_worker_beat *beat, size_t row,
                          struct dispatcher_operator_cost *cost)
{
    cost->ns = beat->stat_operator_ns.at[row];
    cost->bytes = beat->stat_operator_bytes.at[row];
    if (row < beat->stat_operator_taken.count)
        cost->taken = beat->stat_operator_taken.at[row];
    if (row < beat->stat_operator_rows.count && row < beat->stat_operator_kept.count) {
        cost->rows = beat->stat_operator_rows.at[row];
        cost->kept = beat->stat_operator_kept.at[row];
    }
}

static void note_cost(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                      const struct msg_worker_beat *beat, size_t row, size_t first_operator,
                      const struct placement_transport *transport)
{
    const struct dispatcher_cost before = preprocess_costs_of(&entry->costs, beat->session);
    struct dispatcher_cost cost = before;
    size_t operators = preprocess_chain_operators(entry->plan.chain);
    if (beat->stat_operators.at[row] < operators)
        operators = beat->stat_operators.at[row];
    cost.unsaved |= cost.cpu_ns != beat->stat_cpu_ns.at[row] ||
                    cost.bytes_sent != beat->stat_bytes_sent.at[row];
    preprocess_shares_spend(&dispatcher->shares, entry->account,
                            beat->stat_cpu_ns.at[row] - cost.cpu_ns);
    cost.cpu_ns = beat->stat_cpu_ns.at[row];
    cost.bytes_read = beat->stat_bytes_read.at[row];
    cost.bytes_sent = beat->stat_bytes_sent.at[row];
    if (row < beat->stat_read_ns.count && row < beat->stat_queued_ns.count) {
        cost.read_ns = beat->stat_read_ns.at[row];
        cost.queued_ns = beat->stat_queued_ns.at[row];
    }
    if (row < beat->stat_shared.count)
        cost.shared = beat->stat_shared.at[row];
    for (size_t i = 0; i < operators; i++)
        note_operator(beat, first_operator + i, &cost.of[i]);
    note_kept(entry, beat, row, &before, &cost);
    preprocess_costs_put(&entry->costs, &cost);
    preprocess_plans_note(&dispatcher->plans, entry,
                          &(struct plans_spent){&before, &cost, transport},
                          weir_loop_now_ms(dispatcher->loop));
}

static void note_reason(struct dispatcher_entry *entry, const char *reason)
{
    if (reason[0] == '\0')
        return;
    bool fails =
        entry->plan.options.on_error.action == CFG_ON_ERROR_FAIL && entry->failure[0] == '\0';
    if (entry->reason == NULL || fails) {
        free(entry->reason);
        char kept[WEIR_ERROR_TEXT_MAX];
        weir_utf8_print(kept, sizeof(kept), "%s", reason);
        entry->reason = weir_strdup(kept);
    }
    if (fails) {
        weir_utf8_print(entry->failure, sizeof(entry->failure), "%s", entry->reason);
        entry->may_be_mended = true;
    }
}

static void note_costs(struct dispatcher *dispatcher, const struct weir_request *request,
                       struct pool_worker *worker)
{
    const struct msg_worker_beat *beat = request->message;
    size_t first_operator = 0, first_failure = 0;
    const struct placement_transport transport = transport_of(beat, worker);
    worker->cpu_ns = 0;
    worker->bytes_sent = worker->bytes_read = 0;
    worker->queued = beat->queued;
    for (size_t i = 0; i < beat->stat_jobs.count; i++) {
        uint64_t operators = beat->stat_operators.at[i];
        uint64_t failures = beat->stat_failures.at[i];
        if (operators > beat->stat_operator_ns.count - first_operator ||
            failures > beat->failed_ids.count - first_failure)
            return;
        struct dispatcher_entry *entry = find_job(dispatcher, request, beat->stat_jobs.at[i]);
        if (entry != NULL) {
            note_cost(dispatcher, entry, beat, i, first_operator, &transport);
            preprocess_dispatcher_note_making(entry, beat, i, worker->place,
                                              weir_loop_now_ms(dispatcher->loop));
            note_reason(entry, beat->stat_reasons.at[i]);
            for (size_t k = first_failure; k < first_failure + failures; k++)
                preprocess_failures_note(&entry->failures, beat->failed_ids.at[k],
                                         beat->failed_reasons.at[k]);
        }
        worker->cpu_ns = weir_plus(worker->cpu_ns, beat->stat_cpu_ns.at[i]);
        worker->bytes_sent += beat->stat_bytes_sent.at[i];
        worker->bytes_read += beat->stat_bytes_read.at[i];
        first_operator += operators;
        first_failure += failures;
    }
}

/* ---- what it has fitted ---- */

static void take_fits(struct dispatcher *dispatcher, const struct weir_request *request)
{
    const struct msg_worker_beat *beat = request->message;
    struct weir_bytes rest = beat->fits;
    struct preprocess_fit fit;
    while (preprocess_fit_take(&rest, &fit)) {
        struct dispatcher_entry *entry = find_job(dispatcher, request, fit.job);
        if (entry == NULL || !entry->job.fitting)
            continue;
        preprocess_entry_fit(entry, &fit);
        preprocess_dispatcher_settle_fit(dispatcher, entry);
    }
}

/* ---- what it gets ---- */

static size_t held_of(const struct msg_worker_beat *beat, uint64_t job,
                      struct dispatcher_held held[DISPATCHER_LEASES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < beat->jobs.count && count < DISPATCHER_LEASES_MAX; i++) {
        if (beat->jobs.at[i] == job)
            held[count++] = (struct dispatcher_held){.group = beat->groups.at[i],
                                                     .fence = beat->fences.at[i],
                                                     .sent = beat->sent.at[i] != 0};
    }
    return count;
}

/* Lists the leases of a job for the answer; none when it has failed, or a worker would fail at it again and again. */
static void list_leases(const struct dispatcher_entry *entry, const struct dispatcher_visit *visit,
                        struct dispatcher_orders *orders)
{
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    size_t count = entry->failure[0] != '\0'
                       ? 0
                       : preprocess_job_leases(&entry->job, visit->worker, visit->session, leases);
    const struct dispatcher_record *record = &entry->job.record;
    for (size_t i = 0; i < count && orders->count < DISPATCHER_ORDERS_MAX; i++) {
        size_t at = orders->count++;
        orders->jobs[at] = entry->number;
        orders->attempts[at] = entry->job.fitting ? 0 : record->attempt;
        orders->groups[at] = leases[i].group;
        orders->fences[at] = leases[i].fence;
        orders->sessions[at] = entry->job.fitting ? 0 : record->seats[leases[i].rank].session;
        orders->ranks[at] = leases[i].rank;
    }
}

/* Tells the worker which order the operators of a job have by now. */
static void list_plan(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct dispatcher_orders *orders = &dispatcher->orders;
    if (orders->planned == DISPATCHER_ORDERS_MAX)
        return;
    const struct planning *planning =
        preprocess_plans_of(&dispatcher->plans, entry, weir_loop_now_ms(dispatcher->loop));
    orders->planned_jobs[orders->planned] = entry->number;
    orders->plan_changes[orders->planned++] = planning->changes;
}

static void visit_job(struct dispatcher_entry *entry, const struct msg_worker_beat *beat,
                      struct leasing *leasing)
{
    struct dispatcher_held held[DISPATCHER_LEASES_MAX];
    leasing->visit.held = held;
    leasing->visit.held_count = held_of(beat, entry->number, held);
    for (size_t i = 0; i < leasing->visit.held_count; i++)
        entry->is_at_work |= held[i].sent && !entry->job.fitting;
    /* An attempt that is not durable yet gets nothing. */
    bool is_durable = (preprocess_entry_unsaved(entry) & DISPATCHER_PLACES) == 0;
    preprocess_leasing_visit(leasing, &entry->job, entry->account,
                             entry->failure[0] == '\0' && is_durable);
}

/* Leases of the jobs whose crew the worker belongs to; a worker that has left the crew no longer has leases. */
static void lease_jobs(struct dispatcher *dispatcher, const struct dispatcher_visit *visit,
                       const struct weir_request *request)
{
    const struct msg_worker_beat *beat = request->message;
    const struct weir_sender *sender = weir_rpc_sender(request);
    struct weir_arena *arena = request->arena;
    size_t first = visit->worker - visit->worker % POOL_CREW, count = dispatcher->entry_count;
    struct dispatcher_entry **entries = weir_arena_alloc(arena, (count + 1) * sizeof(*entries));
    struct leasing leasing = {
        .shares = &dispatcher->shares,
        .pool = &dispatcher->pool,
        .visit = *visit,
        .now_ms = weir_loop_now_ms(dispatcher->loop),
        .want = beat->want,
        .jobs = weir_arena_alloc(arena, (count + 1) * sizeof(struct leasing_job)),
    };
    for (size_t i = 0; i < count; i++) {
        struct dispatcher_entry *entry = dispatcher->entries[(dispatcher->rotation + i) % count];
        if (preprocess_entry_crew(entry, &dispatcher->pool) != first ||
            !preprocess_dispatcher_may_make(sender, entry->tenant))
            continue;
        entries[leasing.count] = entry;
        visit_job(entry, beat, &leasing);
    }
    preprocess_leasing_give(&leasing);
    for (size_t i = 0; i < leasing.count; i++) {
        size_t before = dispatcher->orders.count;
        list_leases(entries[i], visit, &dispatcher->orders);
        if (dispatcher->orders.count > before)
            list_plan(dispatcher, entries[i]);
    }
    dispatcher->rotation++;
}

/* Notes what the worker says of itself. */
static void note_state(const struct msg_worker_beat *beat, struct pool_worker *worker)
{
    worker->leases = (uint32_t)beat->jobs.count;
    worker->wiped = beat->wiped;
    worker->mismatches = beat->mismatches;
    worker->granted = beat->granted;
    worker->refused = beat->refused;
    worker->place = weir_str_equal(beat->place, "host") ? SCALE_HOST : SCALE_POOL;
}

/* ---- messages ---- */

static enum weir_status check_room(const struct pool *pool, const struct pool_beat *beat,
                                   struct weir_error *err)
{
    if (preprocess_pool_has_room(pool, beat))
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT,
                     "worker_beat: found %zu of %d places taken, and no other one for key '%s': "
                     "expected that workers have been silent for %d minutes",
                     pool->quota.keys.size, POOL_WORKERS_MAX, beat->key, POOL_FORGET_MS / 60000);
}

/* Refuses whoever may not beat under this name, and a worker for which there is no room. */
static enum weir_status check_sender(const struct dispatcher *dispatcher,
                                     const struct weir_request *request,
                                     const struct pool_beat *heard, struct weir_error *err)
{
    enum weir_status status = check(request->message, err);
    if (status == WEIR_OK)
        status = preprocess_dispatcher_check_name(weir_rpc_sender(request), heard->name, err);
    return status == WEIR_OK ? check_room(&dispatcher->pool, heard, err) : status;
}

/* Takes in what the worker in a slot says, and gives it work. */
static void attend(struct dispatcher *dispatcher, const struct weir_request *request,
                   struct dispatcher_visit *visit)
{
    struct pool_worker *worker = &dispatcher->pool.worker[visit->worker];
    note_state(request->message, worker);
    worker->drains = preprocess_scaling_drains(&dispatcher->scaling, worker->name);
    visit->drains = worker->drains;
    worker->route = request->route;
    preprocess_plans_hear_disk(&dispatcher->plans, request->message);
    note_costs(dispatcher, request, worker);
    take_fits(dispatcher, request);
    lease_jobs(dispatcher, visit, request);
}

/* The columns of an answer to a beat. */
static struct msg_worker_orders tell_orders(const struct dispatcher_orders *orders)
{
    return (struct msg_worker_orders){
        .jobs = {orders->jobs, orders->count},
        .attempts = {orders->attempts, orders->count},
        .groups = {orders->groups, orders->count},
        .fences = {orders->fences, orders->count},
        .sessions = {orders->sessions, orders->count},
        .ranks = {orders->ranks, orders->count},
        .planned_jobs = {orders->planned_jobs, orders->planned},
        .plan_changes = {orders->plan_changes, orders->planned},
    };
}

void preprocess_dispatcher_on_worker_beat(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    struct pool *pool = &dispatcher->pool;
    const struct msg_worker_beat *beat = request->message;
    const struct pool_beat heard = {.name = beat->worker,
                                    .endpoint = beat->endpoint,
                                    .session = beat->session,
                                    .key = weir_rpc_sender(request)->name};
    struct weir_error err;
    if (check_sender(dispatcher, request, &heard, &err) != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    bool is_known = false;
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    int slot = preprocess_pool_hear(pool, &heard, now_ms, &is_known);
    struct dispatcher_visit visit = {.worker = (uint32_t)slot,
                                     .session = beat->session,
                                     .lease_ms =
                                         preprocess_pool_lease_ms(pool, DISPATCHER_LEASE_MS)};
    dispatcher->orders.count = dispatcher->orders.planned = 0;
    if (slot >= 0)
        attend(dispatcher, request, &visit);
    struct msg_worker_orders answer = tell_orders(&dispatcher->orders);
    answer.session = beat->session;
    answer.lease_ms = (uint32_t)visit.lease_ms;
    answer.known = is_known;
    answer.beat_ms = (uint32_t)preprocess_pool_beat_ms(pool);
    answer.wipe = dispatcher->wipe;
    answer.drains = visit.drains;
    answer.unreached = slot >= 0 && preprocess_pool_is_unreached(&pool->worker[slot], now_ms);
    preprocess_dispatcher_tell_keys(dispatcher, request, &answer);
    weir_rpc_reply(request->server, &request->route, MSG_worker_orders, &answer, NULL);
    preprocess_dispatcher_expect_ahead(dispatcher);
}

void preprocess_dispatcher_on_worker_leave(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_worker_leave *leave = request->message;
    struct weir_error err;
    if (preprocess_dispatcher_check_name(weir_rpc_sender(request), leave->worker, &err) != WEIR_OK)
        return;
    int slot = preprocess_pool_leave(&dispatcher->pool, leave->worker, leave->session);
    if (slot >= 0)
        preprocess_shares_drop(&dispatcher->shares, (uint32_t)slot);
    for (size_t i = 0; slot >= 0 && i < dispatcher->entry_count; i++)
        preprocess_job_worker_leave(&dispatcher->entries[i]->job, (uint32_t)slot, leave->session);
}

static enum weir_status renew(void *owner, struct weir_db *db, struct weir_error *err)
{
    (void)owner;
    (void)err;
    weir_db_renew(db);
    return WEIR_OK;
}

static void ignore(void *owner, const struct weir_error *err)
{
    (void)owner;
    (void)err;
}

void preprocess_dispatcher_wipe(void *state, const struct weir_request *request,
                                struct msg_wiped *answer)
{
    struct dispatcher *dispatcher = state;
    const struct pool *pool = &dispatcher->pool;
    uint64_t number = ((const struct msg_wipe *)request->message)->number;
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    if (number > dispatcher->wipe) {
        dispatcher->wipe = number;
        weir_db_thread_run(dispatcher->thread, &(struct weir_db_job){renew, ignore, free, NULL});
    }
    const char **names = weir_arena_alloc(request->arena, pool->count * sizeof(*names));
    uint64_t *numbers = weir_arena_alloc(request->arena, pool->count * sizeof(*numbers));
    size_t count = 0;
    for (size_t i = 0; i < pool->count; i++) {
        if (!preprocess_pool_is_heard(pool, i, now_ms))
            continue;
        names[count] = pool->worker[i].name;
        numbers[count++] = pool->worker[i].wiped;
    }
    answer->workers = (struct weir_strs){names, count};
    answer->worker_numbers = (struct weir_u64s){numbers, count};
}
