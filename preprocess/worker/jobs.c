/* Jobs as a worker knows them: described once by the dispatcher, planned once, closed when idle. */
#include "preprocess/worker/jobs.h"

#include "core/base/log.h"
#include "core/base/utf8.h"

#include <unistd.h>

struct worker_spent preprocess_worker_job_spent(const struct worker_job *job, size_t operator)
{
    struct chain_cost cost = preprocess_chain_cost(job->plan.chain, operator);
    const struct worker_spent *before = &job->operators[operator];
    return (struct worker_spent){.ns = before->ns + cost.spent_ns,
                                 .programs_ns = before->programs_ns + cost.programs_ns,
                                 .taken = before->taken + cost.taken,
                                 .bytes = before->bytes + cost.bytes,
                                 .rows = before->rows + cost.rows,
                                 .kept = before->kept + cost.rows - cost.failed - cost.filtered};
}

static void keep_costs(struct worker_job *job)
{
    for (size_t i = 0; job->open && i < preprocess_chain_operators(job->plan.chain); i++)
        job->operators[i] = preprocess_worker_job_spent(job, i);
}

/* Closes the plan but keeps its costs, which are still reported when the plan is made again: after a fit, or when the
 * job comes back. */
static void close_job(struct worker_job *job)
{
    keep_costs(job);
    preprocess_plan_close(&job->plan);
    job->open = false;
}

/* Returns how many operators of a chain are left to trainers. Memory that they lend holds finished tensors: so, unless
 * the file asks for it, none where batches are written there. */
static size_t sunk_of(const struct worker *worker, const struct preprocess_plan *plan,
                      const struct chain *chain, const struct msg_job_described *about)
{
    uint8_t order[CHAIN_OPERATORS_MAX];
    preprocess_chain_order(chain, order);
    if (about->fitting || plan->options.plan.place == PREPROCESS_POOL)
        return 0;
    if (plan->options.plan.place == PREPROCESS_HOST)
        return preprocess_chain_sinkable(chain, order);
    return preprocess_worker_uses_sockets(worker) ? about->sunk : 0;
}

/* Plans the operators as the dispatcher says; NULL: as they are. */
static enum weir_status take_plan(const struct worker *worker, const struct preprocess_plan *plan,
                                  const struct msg_job_described *about, struct chain **ret_chain,
                                  struct weir_error *err)
{
    WEIR_AUTO(chain) ordered = NULL;
    enum weir_status status = WEIR_OK;
    if (about->order.count > 0)
        status = preprocess_plan_reorder(plan, about->order, &ordered, err);
    if (status != WEIR_OK)
        return status;
    const struct chain *chain = ordered != NULL ? ordered : plan->chain;
    size_t sunk = sunk_of(worker, plan, chain, about);
    if (sunk > 0)
        return preprocess_chain_sink(chain, sunk, ret_chain, err);
    *ret_chain = WEIR_TAKE(ordered);
    return WEIR_OK;
}

/* Finds the file of the job's set, which is fetched where it is not to be seen. UNAVAILABLE while it is on its way. */
static enum weir_status find_set(const struct worker *worker, const struct msg_job_described *about,
                                 const char **ret_path, struct weir_error *err)
{
    *ret_path = about->set_path;
    return worker->sets == NULL || access(about->set_path, R_OK) == 0
               ? WEIR_OK
               : preprocess_sets_find(worker->sets, about->set_digest, ret_path, err);
}

static enum weir_status open_plan(const struct worker *worker,
                                  const struct msg_job_described *about, const char *set_path,
                                  struct preprocess_plan *ret_plan, struct weir_error *err)
{
    struct preprocess_order_form form = {
        .file = about->file,
        .config = about->config,
        .tables = about->tables,
        .set_path = set_path,
        .set_digest = about->set_digest,
        .epochs = about->epochs,
        .seed = about->seed,
        .mode = about->mode,
        .group_batches = about->group_batches,
        .ranks = about->ranks,
        .cut = about->cut,
    };
    enum weir_status status = preprocess_plan_open(&form, ret_plan, err);
    if (status != WEIR_OK)
        return status;
    struct chain *chain = NULL;
    status = take_plan(worker, ret_plan, about, &chain, err);
    if (chain != NULL)
        preprocess_plan_use(ret_plan, chain);
    if (status == WEIR_OK && !about->fitting)
        status = preprocess_plan_fitted(ret_plan, about->fitted, err);
    if (status != WEIR_OK)
        preprocess_plan_close(ret_plan);
    return status;
}

/* It is tried again, ever more seldom; it is reported to the dispatcher, which may know that nobody can make it. */
static void note_problem(struct worker_job *job, const char *problem)
{
    enum { DOUBLINGS_MAX = 5 };
    unsigned doublings = job->problems < DOUBLINGS_MAX ? job->problems : DOUBLINGS_MAX;
    job->retry_ms += (int64_t)WORKER_RETRY_MS << doublings;
    job->problems++;
    if (!weir_str_equal(job->problem, problem))
        weir_log(WEIR_LOG_WARN, "job cannot be made here", "job=%lu reason=\"%s\"", job->number,
                 problem);
    weir_utf8_print(job->problem, sizeof(job->problem), "%s", problem);
}

/* Takes up another order of the operators of a job that is open, and can go on. A plan that cannot, or keeps rows
 * elsewhere, is made again. */
static bool take_order(struct worker_job *job, const struct msg_job_described *about)
{
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    if (!job->open || job->fitting != about->fitting || about->order.count == 0 ||
        job->cut != about->cut)
        return false;
    enum weir_status status = take_plan(job->worker, &job->plan, about, &chain, &err);
    if (status == WEIR_OK && !job->fitting)
        status = preprocess_chain_fit_load(chain, about->fitted, &err);
    if (status != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "order not taken up, planning anew", "job=%lu reason=\"%s\"",
                 job->number, err.text);
        return false;
    }
    keep_costs(job);
    preprocess_plan_use(&job->plan, WEIR_TAKE(chain));
    job->plan_changes = about->plan_changes;
    job->is_replanned = false;
    return true;
}

static void on_described(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_job *job = owner;
    struct weir_error reason;
    const char *set_path = NULL;
    job->is_requesting = false;
    job->retry_ms = weir_loop_now_ms(job->worker->loop) + WORKER_RETRY_MS;
    if (reply == NULL) {
        weir_log(WEIR_LOG_DEBUG, "job not described, asking again", "job=%lu reason=\"%s\"",
                 job->number, err->text);
        return;
    }
    const struct msg_job_described *about = reply->message;
    if (take_order(job, about)) {
        job->worker->prepare(job->worker);
        return;
    }
    bool is_news = !job->open || job->fitting != about->fitting;
    close_job(job);
    enum weir_status status = find_set(job->worker, about, &set_path, &reason);
    if (status == WEIR_UNAVAILABLE) { /* preprocess_worker_jobs_go_on() */
        job->retry_ms = weir_loop_now_ms(job->worker->loop) + WORKER_SET_MS;
        return;
    }
    if (status == WEIR_OK)
        status = open_plan(job->worker, about, set_path, &job->plan, &reason);
    if (status != WEIR_OK) {
        note_problem(job, reason.text);
        return;
    }
    if (job->plan.options.plan.cache_auto)
        preprocess_kept_probe_begin(&job->worker->probe);
    job->open = true;
    job->cut = about->cut;
    job->plan_changes = about->plan_changes;
    job->is_replanned = false;
    job->problems = 0;
    job->problem[0] = '\0';
    job->fitting = about->fitting;
    job->production = about->fitting ? 0 : preprocess_plan_production(&job->plan, about->fitted);
    if (is_news) /* a worker that has fitted it makes batches of it next */
        job->retry_ms = 0;
    job->worker->prepare(job->worker);
}

static bool is_leased(const struct worker *worker, uint64_t number)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &worker->flow.leases[i];
        if (lease->fence != 0 && lease->job == number)
            return true;
    }
    return false;
}

/* Jobs that have ended are not told to end: an open one makes room once the dispatcher knows what it has cost. */
static bool may_go(const struct worker *worker, const struct worker_job *job)
{
    if (job->is_requesting)
        return false;
    return !job->open || (job->used_ms < worker->told_ms && !is_leased(worker, job->number));
}

/* Closed ones first, then those that were not used for the longest time. */
static bool goes_before(const struct worker_job *job, const struct worker_job *other)
{
    if (other == NULL || job->open != other->open)
        return other == NULL || other->open;
    return job->used_ms < other->used_ms;
}

struct worker_job *preprocess_worker_job_slot(struct worker *worker, uint64_t number)
{
    struct worker_job *spare = NULL;
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        if (job->number == number)
            return job;
        if (may_go(worker, job) && goes_before(job, spare))
            spare = job;
    }
    if (spare == NULL)
        return NULL;
    preprocess_plan_close(&spare->plan);
    *spare = (struct worker_job){.number = number, .worker = worker};
    return spare;
}

static void describe(struct worker_job *job)
{
    if (job->is_requesting || job->used_ms < job->retry_ms)
        return;
    job->is_requesting = true;
    weir_rpc_call(job->worker->dispatcher, MSG_job_describe,
                  &(struct msg_job_describe){
                      .job = job->number, .problem = job->problem, .worker = job->worker->name},
                  WORKER_REQUEST_MS, on_described, job);
}

void preprocess_worker_job_expect(struct worker *worker, uint64_t number)
{
    struct worker_job *job = preprocess_worker_job_slot(worker, number);
    if (job == NULL || job->open)
        return;
    job->used_ms = weir_loop_now_ms(worker->loop);
    describe(job);
}

void preprocess_worker_job_met(struct worker *worker, uint64_t number)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++)
        worker->jobs[i].is_met |= worker->jobs[i].number == number;
}

void preprocess_worker_jobs_go_on(void *owner)
{
    struct worker *worker = owner;
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++)
        worker->jobs[i].retry_ms = 0;
    worker->prepare(worker);
}

struct worker_job *preprocess_worker_job_for(struct worker *worker,
                                             const struct worker_lease *lease)
{
    struct worker_job *job = preprocess_worker_job_slot(worker, lease->job);
    if (job == NULL)
        return NULL;
    job->used_ms = weir_loop_now_ms(worker->loop);
    bool folds = lease->attempt == 0, is_good = job->open && job->fitting == folds;
    if (is_good && !job->is_replanned)
        return job;
    describe(job);
    return is_good ? job : NULL;
}

void preprocess_worker_jobs_planned(struct worker *worker, const struct msg_worker_orders *orders)
{
    for (size_t i = 0; i < orders->planned_jobs.count && i < orders->plan_changes.count; i++) {
        for (size_t k = 0; k < WORKER_JOBS_MAX; k++) {
            struct worker_job *job = &worker->jobs[k];
            if (job->open && job->number == orders->planned_jobs.at[i])
                job->is_replanned = job->plan_changes != orders->plan_changes.at[i];
        }
    }
}

void preprocess_worker_jobs_expire(struct worker *worker, int64_t now_ms)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        if (job->open && now_ms - job->used_ms >= WORKER_JOB_IDLE_MS)
            close_job(job);
    }
}

void preprocess_worker_jobs_close(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++)
        close_job(&worker->jobs[i]);
}

void preprocess_worker_jobs_wipe(struct worker *worker)
{
    preprocess_worker_jobs_close(worker); /* operators keep the rows of their last batch */
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        explicit_bzero(job->reason, sizeof(job->reason));
        explicit_bzero(job->problem, sizeof(job->problem));
        explicit_bzero(&job->failures, sizeof(job->failures));
    }
}
