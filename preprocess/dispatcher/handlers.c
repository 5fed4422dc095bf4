/* Messages of the orchestrator, of consumers, and requests of workers; beats.c has their beats. */
#include "core/base/utf8.h"
#include "preprocess/dispatcher/dispatcher.h"
#include "preprocess/dispatcher/limits.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "preprocess/dispatcher/keys.h"
#include "preprocess/plan/elements.h"
#include "preprocess/plan/tensors.h"

#include <stdlib.h>

/* Defines a handler of a message about a job, `handler` in the end. */
#define OF_JOB(message_, handler)                                                                 \
    static void message_##_of_job(void *state, struct weir_request *request)                      \
    {                                                                                             \
        const struct msg_##message_ *asked = request->message;                                    \
        preprocess_dispatcher_when_found(state, request, asked->job, handler, message_##_of_job); \
    }

static void refuse(struct weir_request *request, const struct weir_error *err)
{
    weir_rpc_refuse(request->server, &request->route, err);
}

static void reply(struct weir_request *request, enum weir_message type, const void *message)
{
    weir_rpc_reply(request->server, &request->route, type, message, NULL);
}

/* ---- orchestrator ---- */

/* Sums over all worker sessions; columns in the arena. */
static void add_costs(const struct dispatcher_entry *entry, struct weir_arena *arena,
                      struct msg_job_is *answer)
{
    const struct dispatcher_cost *total = &entry->costs.total;
    size_t count = preprocess_chain_operators(entry->plan.chain);
    const char **names = weir_arena_alloc(arena, (count + 1) * sizeof(*names));
    int64_t *ns = weir_arena_alloc(arena, (count + 1) * sizeof(*ns));
    uint64_t *bytes = weir_arena_alloc(arena, (count + 1) * sizeof(*bytes));
    for (size_t i = 0; i < count; i++) {
        names[i] = preprocess_chain_cost(entry->plan.chain, i).name;
        ns[i] = total->of[i].ns;
        bytes[i] = total->of[i].bytes;
    }
    answer->worker_cpu_ns = total->cpu_ns;
    answer->bytes_read = total->bytes_read;
    answer->bytes_sent = total->bytes_sent;
    answer->shared_jobs = entry->shared_jobs;
    answer->shared_batches = total->shared;
    answer->operators = (struct weir_strs){names, count};
    answer->operator_ns = (struct weir_i64s){ns, count};
    answer->operator_bytes = (struct weir_u64s){bytes, count};
}

/* Says which order the operators have by now, if it is another one than when the job began. */
static void add_plan(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                     struct weir_arena *arena, struct msg_job_is *answer)
{
    struct msg_plan_is plan;
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    if (entry->closed ||
        preprocess_plans_of(&dispatcher->plans, entry, now_ms)->changes == entry->plan_changes)
        return;
    preprocess_plans_show(&dispatcher->plans, entry, now_ms, arena, &plan);
    const char **names = weir_arena_alloc(arena, (plan.order.count + 1) * sizeof(*names));
    for (size_t i = 0; i < plan.order.count; i++)
        names[i] = plan.operators.at[plan.order.at[i]];
    answer->plan_state = plan.state;
    answer->plan_order = (struct weir_strs){names, plan.order.count};
    answer->plan_promised = plan.promised;
    answer->plan_sunk = plan.sunk;
    answer->plan_kept_after = plan.cut > 0 ? plan.operators.at[plan.cut - 1] : "";
}

static const char *state_name(const struct dispatcher_entry *entry)
{
    if (entry->closed)
        return "closed";
    return entry->job.record.final ? "finished" : "open";
}

static weir_rpc_handler_fn job_request_of_job, client_open_of_job;

static void on_job_request(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_job_request *ask = request->message;
    struct dispatcher_entry *entry = NULL;
    struct weir_error err;
    enum weir_status status = preprocess_dispatcher_find(dispatcher, ask->job, &entry, &err);
    if (status == WEIR_OK &&
        preprocess_dispatcher_waits(dispatcher, entry, request, job_request_of_job))
        return;
    if (status == WEIR_OK && entry->failure[0] != '\0')
        status = weir_fail(&err, WEIR_INVALID, "job %lu: %s", ask->job, entry->failure);
    if (status == WEIR_OK)
        status = preprocess_dispatcher_expect(dispatcher, entry, &err);
    if (status == WEIR_OK) {
        struct dispatcher_audit audit = preprocess_job_audit(&entry->job, entry->expected);
        struct msg_job_is answer = {
            .state = state_name(entry),
            .set = audit.set,
            .delivered = audit.tally.delivered,
            .filtered = audit.tally.filtered,
            .failed = audit.tally.failed,
            .erased = audit.tally.erased,
            .gone = audit.tally.gone,
            .lost = audit.lost,
            .duplicated = audit.duplicated,
            .replayed = audit.replayed,
            .attempts = audit.attempts,
            .fitted = weir_buf_view(&entry->fitted),
            .reason = preprocess_entry_reason(entry),
            .delivery = preprocess_delivery_name(entry->plan.delivery),
            .kept = audit.kept,
            .digests = audit.tally.digests.count,
            .digest = weir_bytes(audit.tally.digests.digest.bytes, WEIR_DIGEST_BYTES),
        };
        add_costs(entry, request->arena, &answer);
        add_plan(dispatcher, entry, request->arena, &answer);
        preprocess_failures_list(&entry->failures, request->arena, &answer.failed_ids,
                                 &answer.failed_reasons);
        reply(request, MSG_job_is, &answer);
    } else {
        refuse(request, &err);
    }
    preprocess_dispatcher_let_go(entry);
}

/* Without an answer: closing a job is not waited for. */
static void on_job_close(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_job_close *ask = request->message;
    struct dispatcher_entry *entry = NULL;
    struct weir_error err;
    enum weir_status status = preprocess_dispatcher_find(dispatcher, ask->job, &entry, &err);
    if (status != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "job not closed", "job=%lu reason=\"%s\"", ask->job, err.text);
        return;
    }
    if (entry->closed) {
        preprocess_dispatcher_let_go(entry);
        return;
    }
    entry->closing = true;
    preprocess_dispatcher_leave_production(dispatcher, entry);
    entry->abandoned = false;
    preprocess_dispatcher_settle(dispatcher);
}

/* ---- workers ---- */

/* Has a worker leased nothing of the job for a while; true when that is news. */
static bool bar(struct dispatcher *dispatcher, struct dispatcher_entry *entry, int slot,
                int64_t for_ms)
{
    const struct pool_worker *worker = &dispatcher->pool.worker[slot];
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    if (entry->barred == NULL)
        entry->barred = weir_calloc(1, sizeof(*entry->barred));
    entry->job.barred = entry->barred;
    if (!preprocess_barred_note(entry->barred, worker, (uint32_t)slot, now_ms, for_ms))
        return false;
    preprocess_job_worker_leave(&entry->job, (uint32_t)slot, worker->session);
    return true;
}

/* A worker elsewhere says that it cannot make the job: others may, such as those that may run its programs. */
static void note_unable(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                        const struct weir_request *request)
{
    const struct msg_job_describe *ask = request->message;
    int slot = preprocess_pool_slot(&dispatcher->pool, ask->worker);
    if (slot < 0 || weir_rpc_role(request) != WEIR_ROLE_WORKER ||
        preprocess_dispatcher_check_name(weir_rpc_sender(request), ask->worker, NULL) != WEIR_OK)
        return;
    if (bar(dispatcher, entry, slot, BARRED_UNABLE_MS))
        weir_log(WEIR_LOG_WARN, "a worker cannot make a job, and is leased nothing of it",
                 "job=%lu worker=%s reason=\"%s\"", entry->number, ask->worker, ask->problem);
}

/* A worker cannot make it: when its set cannot be read from here either, nobody can. */
static void look_at_problem(struct dispatcher_entry *entry)
{
    struct weir_sample_set set;
    struct weir_error err;
    if (entry->failure[0] != '\0')
        return;
    if (weir_sample_set_open(entry->set_path, &set, &err) == WEIR_OK) {
        weir_sample_set_close(&set);
        return;
    }
    weir_utf8_print(entry->failure, sizeof(entry->failure), "its sample set is lost: %s", err.text);
    entry->may_be_mended = true;
}

/* Adds the plan: workers keep to what the file says until something has changed. */
static void add_order(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                      struct weir_arena *arena, struct msg_job_described *answer)
{
    const struct planning *planning =
        preprocess_plans_of(&dispatcher->plans, entry, weir_loop_now_ms(dispatcher->loop));
    size_t count = preprocess_chain_operators(entry->plan.chain);
    uint32_t *order = weir_arena_alloc(arena, (count + 1) * sizeof(*order));
    for (size_t i = 0; i < count; i++)
        order[i] = planning->order[i];
    answer->order = (struct weir_u32s){order, planning->changes > 0 ? count : 0};
    answer->plan_changes = planning->changes;
    answer->sunk = preprocess_plans_sunk(entry, planning);
    answer->cut = entry->divided != NULL ? preprocess_entry_cut(entry) : 0;
}

static void on_job_describe(void *state, struct weir_request *request)
{
    const struct msg_job_describe *ask = request->message;
    struct dispatcher_entry *entry = NULL;
    struct weir_error err;
    if (preprocess_dispatcher_find(state, ask->job, &entry, &err) != WEIR_OK) {
        refuse(request, &err);
        return;
    }
    if (!preprocess_dispatcher_may_make(weir_rpc_sender(request), entry->tenant)) {
        weir_ignore(weir_fail(&err, WEIR_DENIED, "job %lu is of another tenant", ask->job));
        refuse(request, &err);
        preprocess_dispatcher_let_go(entry);
        return;
    }
    if (ask->problem[0] != '\0') {
        note_unable(state, entry, request);
        look_at_problem(entry);
    }
    struct msg_job_described answer = {.job = entry->number,
                                       .file = entry->file,
                                       .config = weir_buf_view(&entry->config),
                                       .set_path = entry->set_path,
                                       .set_digest = entry->set_digest,
                                       .epochs = entry->epochs,
                                       .seed = entry->seed,
                                       .mode = entry->mode,
                                       .fitted = weir_buf_view(&entry->fitted),
                                       .group_batches = entry->plan.geometry.group_batches,
                                       .fitting = entry->job.fitting,
                                       .ranks = entry->ranks,
                                       .tables = weir_buf_view(&entry->tables)};
    add_order(state, entry, request->arena, &answer);
    reply(request, MSG_job_described, &answer);
    preprocess_dispatcher_let_go(entry);
}

static void on_plan_request(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_plan_request *ask = request->message;
    struct dispatcher_entry *entry = NULL;
    struct msg_plan_is answer;
    struct weir_error err;
    if (preprocess_dispatcher_find(dispatcher, ask->job, &entry, &err) != WEIR_OK) {
        refuse(request, &err);
        return;
    }
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    preprocess_plans_show(&dispatcher->plans, entry, now_ms, request->arena, &answer);
    answer.fused = preprocess_plans_fusion(&dispatcher->plans, entry, now_ms, request->arena);
    preprocess_dispatcher_show_windows(dispatcher, entry, request->arena, &answer);
    preprocess_limits_show(entry, preprocess_plans_of(&dispatcher->plans, entry, now_ms), &answer);
    reply(request, MSG_plan_is, &answer);
    preprocess_dispatcher_let_go(entry);
}

WEIR_ANSWERED(struct dispatcher, pool_order, pool_is,
              preprocess_dispatcher_order_pool(owner, asked, arena, answer, err))

/* ---- consumers ---- */

/* A consumer, as its message says. */
struct consumer {
    uint64_t job, session;
    uint32_t rank;
};

/* Finds the job for one of its consumers. */
static enum weir_status find_open(struct dispatcher *dispatcher, const struct weir_request *request,
                                  const struct consumer *consumer,
                                  struct dispatcher_entry **ret_entry, struct weir_error *err)
{
    enum weir_status status = preprocess_dispatcher_find(dispatcher, consumer->job, ret_entry, err);
    if (status != WEIR_OK)
        return status;
    status = preprocess_dispatcher_check_consumer(*ret_entry, request, consumer->rank,
                                                  consumer->session, err);
    if (status == WEIR_OK && (*ret_entry)->closed)
        status = weir_fail(err, WEIR_STALE, "job %lu is closed", consumer->job);
    else if (status == WEIR_OK && (*ret_entry)->failure[0] != '\0')
        status = weir_fail(err, WEIR_INVALID, "job %lu: %s", consumer->job, (*ret_entry)->failure);
    if (status != WEIR_OK)
        preprocess_dispatcher_let_go(*ret_entry);
    return status;
}

static enum weir_status open_attempt(struct dispatcher *dispatcher,
                                     const struct weir_request *request,
                                     struct dispatcher_entry **ret_entry,
                                     struct dispatcher_opened *ret_opened, struct weir_error *err)
{
    const struct msg_client_open *ask = request->message;
    const struct consumer consumer = {ask->job, ask->session, ask->rank};
    enum weir_status status = find_open(dispatcher, request, &consumer, ret_entry, err);
    if (status == WEIR_OK && !weir_str_equal_secretly((*ret_entry)->token, ask->token))
        status = weir_fail(err, WEIR_DENIED,
                           "job %lu: the consumer does not have the token of this run (WEIR_TOKEN)",
                           ask->job);
    if (status != WEIR_OK)
        return status;
    struct weir_position position = {0};
    struct dispatcher_claim claim = {
        .session = ask->session,
        .rank = ask->rank,
        .ranks = ask->ranks,
        .after = ask->after,
        .joined = ask->joined,
        .state = ask->position.size > 0 ? &position : NULL,
    };
    status = weir_position_unpack(ask->position, &position, err);
    if (status == WEIR_OK)
        status = preprocess_job_client_open(&(*ret_entry)->job, &claim, ret_opened, err);
    if (status == WEIR_OK) /* from now on the session is its key's */
        status =
            preprocess_dispatcher_check_consumer(*ret_entry, request, ask->rank, ask->session, err);
    weir_position_fini(&position);
    return status;
}

/* Describes the job that a consumer has opened: what it is made of, and where the consumer stands in it. `begun` is the
 * packed position that it begins at. Arrays live in the request's arena. */
static struct msg_client_opened describe_opened(struct dispatcher *dispatcher,
                                                const struct dispatcher_entry *entry,
                                                const struct dispatcher_opened *opened,
                                                const struct weir_request *request,
                                                struct weir_bytes begun)
{
    const struct preprocess_geometry *geometry = &entry->plan.geometry;
    const struct msg_client_open *opening = request->message;
    struct msg_client_opened message = {
        .attempt = opened->attempt,
        .newest = opened->newest,
        .fence = opened->fence,
        .samples = geometry->samples,
        .epochs = geometry->epochs,
        .batches_per_epoch = geometry->batches_per_epoch,
        .batch_samples = geometry->batch_samples,
        .group_batches = geometry->group_batches,
        .deterministic = entry->plan.in_order,
        .workers = preprocess_dispatcher_endpoints(dispatcher, entry->number, request->arena),
        .fitted = weir_buf_view(&entry->fitted),
        .last_dropped = geometry->last == PREPROCESS_LAST_DROP,
        .ranks = geometry->ranks,
        .delivery = entry->plan.delivery,
        .position = begun,
        .joined = opened->joined,
        .superseded = opened->superseded,
        .reload = opened->reload,
        .batches = opened->batches,
        .batch_bytes =
            preprocess_plan_row_bytes(&entry->plan) * geometry->batch_samples / geometry->ranks,
        .memory = preprocess_dispatcher_memory(dispatcher, entry, opening->rank, request->arena),
    };
    preprocess_elements_tell(entry->plan.chain, request->arena, &message);
    preprocess_tensors_tell(entry->plan.chain, &entry->before, request->arena, &message);
    return message;
}

static void on_client_open(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    struct dispatcher_entry *entry = NULL;
    struct dispatcher_opened opened;
    struct weir_error err;
    if (open_attempt(dispatcher, request, &entry, &opened, &err) != WEIR_OK) {
        refuse(request, &err);
        return;
    }
    if (preprocess_dispatcher_waits(dispatcher, entry, request, client_open_of_job))
        return;
    WEIR_AUTO_BUF begun = {0};
    if (opened.attempt != 0) /* they have leases by the time that its credit comes */
        preprocess_dispatcher_hint(dispatcher, entry->number);
    if (opened.begun != NULL)
        weir_position_pack(opened.begun, &begun);
    struct msg_client_opened message =
        describe_opened(dispatcher, entry, &opened, request, weir_buf_view(&begun));
    preprocess_dispatcher_lend_pair(dispatcher, request, &message);
    reply(request, MSG_client_opened, &message);
}

/* Takes the consumer's word for the workers that it cannot reach: their leases of the job go elsewhere. */
static void note_unreached(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                           const struct msg_client_beat *beat)
{
    size_t crew = preprocess_entry_crew(entry, &dispatcher->pool);
    for (size_t i = 0; i < beat->unreachable.count; i++) {
        int slot = preprocess_pool_at(&dispatcher->pool, crew, beat->unreachable.at[i]);
        if (slot < 0)
            continue;
        struct pool_worker *worker = &dispatcher->pool.worker[slot];
        worker->unreached_ms = weir_loop_now_ms(dispatcher->loop);
        if (bar(dispatcher, entry, slot, BARRED_UNREACHED_MS))
            weir_log(WEIR_LOG_WARN,
                     "a consumer cannot reach a worker, which is leased nothing for it",
                     "job=%lu rank=%u worker=%s", entry->number, beat->rank, worker->name);
    }
}

static void on_client_beat(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_client_beat *beat = request->message;
    struct dispatcher_entry *entry = NULL;
    struct dispatcher_pending_reply reply = {.route = request->route,
                                             .job = beat->job,
                                             .key = weir_rpc_quota_key(request),
                                             .type = MSG_client_orders};
    struct weir_error err;
    const struct consumer consumer = {beat->job, beat->session, beat->rank};
    enum weir_status status = find_open(dispatcher, request, &consumer, &entry, &err);
    if (status == WEIR_OK)
        status = preprocess_job_client_beat(&entry->job, beat, weir_loop_now_ms(dispatcher->loop),
                                            &reply.orders, &err);
    if (status != WEIR_OK) {
        refuse(request, &err);
        return;
    }
    bool is_current = !reply.orders.superseded && !reply.orders.regroup;
    if (is_current && reply.orders.number == beat->number)
        preprocess_dispatcher_note_taking(entry, beat, weir_loop_now_ms(dispatcher->loop));
    if (is_current) /* of nobody else: it would take a job its workers */
        note_unreached(dispatcher, entry, beat);
    preprocess_entry_look(entry, weir_loop_now_ms(dispatcher->loop));
    reply.orders.stage = preprocess_stages_name(&entry->stages);
    reply.orders.memory =
        preprocess_dispatcher_memory(dispatcher, entry, beat->rank, request->arena);
    reply.totals = preprocess_job_totals(&entry->job);
    preprocess_dispatcher_reply(dispatcher, entry, &reply);
}

static void on_client_commit(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_client_commit *commit = request->message;
    struct dispatcher_entry *entry = NULL;
    struct dispatcher_pending_reply reply = {.route = request->route,
                                             .job = commit->job,
                                             .key = weir_rpc_quota_key(request),
                                             .type = MSG_client_committed};
    struct weir_error err;
    const struct consumer consumer = {commit->job, commit->session, commit->rank};
    enum weir_status status = find_open(dispatcher, request, &consumer, &entry, &err);
    if (status == WEIR_OK)
        status = preprocess_job_client_commit(&entry->job, commit, &reply.committed, &err);
    if (status != WEIR_OK) {
        refuse(request, &err);
        return;
    }
    if (reply.committed.final) {
        weir_log(WEIR_LOG_INFO, "job finished", "job=%lu attempts=%lu replayed=%lu", entry->number,
                 entry->job.record.attempt, entry->job.record.replayed);
        (void)preprocess_entry_expect(entry); /* its audit will be asked for: stored at once … */
    }
    preprocess_dispatcher_reply(dispatcher, entry, &reply);
    if (reply.committed.final)
        preprocess_dispatcher_settle(dispatcher); /* … or when it is worked out */
}

OF_JOB(job_request, on_job_request)
OF_JOB(job_close, on_job_close)
OF_JOB(job_describe, on_job_describe)
OF_JOB(plan_request, on_plan_request)
OF_JOB(client_open, on_client_open)
OF_JOB(client_beat, on_client_beat)
OF_JOB(client_commit, on_client_commit)

const struct weir_rpc_handler PREPROCESS_DISPATCHER_HANDLERS[] = {
    WEIR_ON(job_open, preprocess_dispatcher_on_job_open),
    WEIR_ON(job_request, job_request_of_job),
    WEIR_ON(job_close, job_close_of_job),
    WEIR_ON(jobs_purge, preprocess_dispatcher_on_jobs_purge),
    WEIR_ON(workers_request, preprocess_dispatcher_on_workers_request),
    WEIR_ON(plan_request, plan_request_of_job),
    WEIR_ON(cache_request, preprocess_dispatcher_on_cache_request),
    WEIR_ON(pool_order, on_pool_order),
    WEIR_ON(worker_beat, preprocess_dispatcher_on_worker_beat),
    WEIR_ON(worker_leave, preprocess_dispatcher_on_worker_leave),
    WEIR_ON(job_describe, job_describe_of_job),
    WEIR_ON(client_open, client_open_of_job),
    WEIR_ON(client_beat, client_beat_of_job),
    WEIR_ON(client_commit, client_commit_of_job),
    {MSG_none, NULL},
};
