/* The dispatcher in the simulated world: the record and the incarnation are durable, leases are not. */
#include "preprocess/dispatcher/leasing.h"
#include "preprocess/dispatcher/scaling.h"

#include "core/base/memory.h"
#include "tests/simulation/delivery_lab.h"

#include <string.h>

struct dispatcher_actor {
    struct lab *lab;
    /* durable */
    uint64_t incarnation;
    struct dispatcher_record records[LAB_JOBS_MAX];
    /* volatile */
    struct dispatcher_fences fences;
    struct dispatcher_job jobs[LAB_JOBS_MAX];
    struct pool pool;
    struct shares shares;
    struct shares_account *account;
    struct productions productions;
    struct scaling scaling; /* its drains */
};

static struct dispatcher_about about_of(const struct lab *lab, size_t job)
{
    return (struct dispatcher_about){
        .job = LAB_JOB + job, .geometry = lab->plan.geometry, .delivery = lab->plan.delivery};
}

static void start(void *self)
{
    struct dispatcher_actor *actor = self;
    actor->incarnation++;
    actor->fences.newest = actor->incarnation << 32;
    actor->account =
        preprocess_shares_join(&actor->shares, &(struct shares_quota){.pipeline = 1, .share = 1});
    for (size_t i = 0; i < actor->lab->plan.jobs; i++) {
        struct dispatcher_about about = about_of(actor->lab, i);
        preprocess_job_init(&actor->jobs[i], &about, &actor->fences);
        preprocess_job_restore(&actor->jobs[i], &actor->records[i], true);
        actor->jobs[i].production = preprocess_production_join(&actor->productions, 1);
    }
}

static void stop(void *self)
{
    struct dispatcher_actor *actor = self;
    for (size_t i = 0; i < actor->lab->plan.jobs; i++) {
        preprocess_production_leave(&actor->productions, actor->jobs[i].production);
        preprocess_job_fini(&actor->jobs[i]);
    }
    preprocess_productions_fini(&actor->productions);
    preprocess_shares_fini(&actor->shares);
    preprocess_pool_fini(&actor->pool);
    preprocess_scaling_fini(&actor->scaling);
}

/* A process that stood still, and knows of an old state alone, may open a finished job again: then whoever starts the
 * ranks starts all of them again. */
static void note_final(struct dispatcher_actor *actor, size_t number)
{
    struct lab_job *job = &actor->lab->jobs[number];
    const struct dispatcher_record *record = &actor->jobs[number].record;
    bool is_reopened = job->finished && !record->final;
    job->finished = record->final;
    for (size_t rank = 0; rank < LAB_RANKS_MAX; rank++)
        job->holder[rank] = record->seats[rank].session;
    if (!is_reopened)
        return;
    memset(job->done, 0, sizeof(job->done));
    memset(job->made, 0, sizeof(job->made));
}

/* Stores the jobs, as the rim does before it answers; the reports alone may wait. */
static void save(struct dispatcher_actor *actor, bool reports_too)
{
    for (size_t i = 0; i < actor->lab->plan.jobs; i++) {
        struct dispatcher_job *job = &actor->jobs[i];
        if (!job->unsaved && !(reports_too && job->report_unsaved))
            continue;
        note_final(actor, i);
        preprocess_record_fini(&actor->records[i]);
        preprocess_record_copy(&actor->records[i], &job->record);
        job->unsaved = job->report_unsaved = false;
    }
}

static int64_t tick(void *self)
{
    save(self, true);
    return 200;
}

static struct dispatcher_job *job_of(struct dispatcher_actor *actor, uint64_t number)
{
    return &actor->jobs[number - LAB_JOB];
}

static void reply(struct dispatcher_actor *actor, size_t to, enum weir_message type,
                  const void *message, struct weir_bytes payload)
{
    world_send(actor->lab->world, LAB_DISPATCHER, to, type, message, payload);
}

static void on_client_open(struct dispatcher_actor *actor, size_t from,
                           const struct msg_client_open *ask, struct weir_bytes payload)
{
    struct lab *lab = actor->lab;
    struct weir_position position = {0};
    struct weir_error err;
    struct dispatcher_opened opened;
    struct dispatcher_claim claim = {.session = ask->session,
                                     .rank = ask->rank,
                                     .ranks = ask->ranks,
                                     .after = ask->after,
                                     .joined = ask->joined,
                                     .state = ask->position.size > 0 ? &position : NULL};
    weir_require(weir_position_unpack(ask->position, &position, &err) == WEIR_OK);
    enum weir_status status =
        preprocess_job_client_open(job_of(actor, ask->job), &claim, &opened, &err);
    weir_position_fini(&position);
    if (status != WEIR_OK)
        return;
    WEIR_AUTO_BUF begun = {0};
    if (opened.begun != NULL)
        weir_position_pack(opened.begun, &begun);
    save(actor, false);
    struct msg_client_opened answer = {.attempt = opened.attempt,
                                       .newest = opened.newest,
                                       .fence = opened.fence,
                                       .samples = lab->plan.geometry.samples,
                                       .epochs = lab->plan.geometry.epochs,
                                       .batches_per_epoch = lab->plan.geometry.batches_per_epoch,
                                       .batch_samples = lab->plan.geometry.batch_samples,
                                       .group_batches = lab->plan.geometry.group_batches,
                                       .deterministic = lab->plan.deterministic,
                                       .last_dropped =
                                           lab->plan.geometry.last == PREPROCESS_LAST_DROP,
                                       .ranks = lab->plan.geometry.ranks,
                                       .delivery = lab->plan.delivery,
                                       .position = weir_buf_view(&begun),
                                       .joined = opened.joined,
                                       .superseded = opened.superseded,
                                       .reload = opened.reload,
                                       .batches = opened.batches};
    reply(actor, from, MSG_client_opened, &answer, payload);
}

static void on_client_beat(struct dispatcher_actor *actor, size_t from,
                           const struct msg_client_beat *beat, struct weir_bytes payload)
{
    struct msg_client_orders orders = {0};
    struct weir_error err;
    enum weir_status status =
        preprocess_job_client_beat(job_of(actor, beat->job), beat,
                                   world_clock(actor->lab->world, LAB_DISPATCHER), &orders, &err);
    lab_check(actor->lab, status == WEIR_OK, "a beat was refused: %s", err.text);
    struct dispatcher_totals totals = preprocess_job_totals(job_of(actor, beat->job));
    preprocess_totals_show(&totals, &orders);
    save(actor, false);
    reply(actor, from, MSG_client_orders, &orders, payload);
}

/* A step is committed when every rank has committed it: together they make one state. */
static void check_common(const struct dispatcher_actor *actor, uint64_t number)
{
    const struct dispatcher_seat *seats = actor->records[number - LAB_JOB].seats;
    for (uint32_t i = 1; i < actor->lab->plan.geometry.ranks; i++)
        lab_check(actor->lab,
                  weir_position_batches(&seats[i].committed) ==
                      weir_position_batches(&seats[0].committed),
                  "ranks 0 and %u have committed different steps", i);
}

static void on_client_commit(struct dispatcher_actor *actor, size_t from,
                             const struct msg_client_commit *commit, struct weir_bytes payload)
{
    struct weir_error err;
    struct msg_client_committed answer;
    if (preprocess_job_client_commit(job_of(actor, commit->job), commit, &answer, &err) != WEIR_OK)
        return;
    save(actor, false);
    check_common(actor, commit->job);
    reply(actor, from, MSG_client_committed, &answer, payload);
}

/* Leases of all jobs, as the beat of a worker is answered. */
struct orders {
    size_t count;
    uint64_t jobs[DISPATCHER_LEASES_MAX], attempts[DISPATCHER_LEASES_MAX];
    uint64_t groups[DISPATCHER_LEASES_MAX], fences[DISPATCHER_LEASES_MAX];
    uint64_t sessions[DISPATCHER_LEASES_MAX];
    uint32_t ranks[DISPATCHER_LEASES_MAX];
};

static void list_leases(const struct dispatcher_job *job, const struct dispatcher_visit *visit,
                        struct orders *orders)
{
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    size_t count = preprocess_job_leases(job, visit->worker, visit->session, leases);
    for (size_t i = 0; i < count && orders->count < DISPATCHER_LEASES_MAX; i++) {
        size_t at = orders->count++;
        orders->jobs[at] = job->about.job;
        orders->attempts[at] = job->record.attempt;
        orders->groups[at] = leases[i].group;
        orders->fences[at] = leases[i].fence;
        orders->sessions[at] = job->record.seats[leases[i].rank].session;
        orders->ranks[at] = leases[i].rank;
    }
}

static void visit_job(struct dispatcher_actor *actor, struct dispatcher_job *job,
                      const struct msg_worker_beat *beat, struct leasing *leasing)
{
    struct dispatcher_held held[DISPATCHER_LEASES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < beat->groups.count && count < DISPATCHER_LEASES_MAX; i++) {
        if (beat->jobs.at[i] == job->about.job)
            held[count++] = (struct dispatcher_held){beat->groups.at[i], beat->fences.at[i],
                                                     beat->sent.at[i] != 0};
    }
    leasing->visit.held = held;
    leasing->visit.held_count = count;
    preprocess_leasing_visit(leasing, job, actor->account, true);
}

const char *lab_worker_name(size_t worker, struct weir_arena *arena)
{
    return weir_arena_format(arena, "worker-%zu", worker);
}

/* Notes the beat; returns the worker's slot, or -1: it is of an earlier life. */
static int hear(struct dispatcher_actor *actor, size_t from, const struct msg_worker_beat *beat,
                int64_t now_ms)
{
    bool is_known;
    WEIR_AUTO_FREE char *name = weir_format("worker-%zu", world_actor_of(from));
    struct pool_beat heard = {.name = name, .endpoint = "", .session = beat->session};
    int slot = preprocess_pool_hear(&actor->pool, &heard, now_ms, &is_known);
    if (slot < 0)
        return slot;
    actor->pool.worker[slot].leases = (uint32_t)beat->groups.count;
    actor->pool.worker[slot].drains = preprocess_scaling_drains(&actor->scaling, name);
    return slot;
}

static void on_worker_beat(struct dispatcher_actor *actor, size_t from,
                           const struct msg_worker_beat *beat, struct weir_bytes payload)
{
    int64_t now_ms = world_clock(actor->lab->world, LAB_DISPATCHER);
    int slot = hear(actor, from, beat, now_ms);
    struct leasing_job jobs[LAB_JOBS_MAX];
    struct leasing leasing = {.shares = &actor->shares,
                              .pool = &actor->pool,
                              .visit = {.worker = (uint32_t)slot,
                                        .session = beat->session,
                                        .lease_ms = DISPATCHER_LEASE_MS},
                              .now_ms = now_ms,
                              .want = beat->want,
                              .jobs = jobs};
    if (slot < 0)
        return;
    leasing.visit.drains = actor->pool.worker[slot].drains;
    for (size_t i = 0; i < actor->lab->plan.jobs; i++)
        visit_job(actor, &actor->jobs[i], beat, &leasing);
    preprocess_leasing_give(&leasing);
    save(actor, false);
    struct orders orders = {0};
    for (size_t i = 0; i < actor->lab->plan.jobs; i++)
        list_leases(&actor->jobs[i], &leasing.visit, &orders);
    struct msg_worker_orders answer = {.session = beat->session,
                                       .lease_ms = DISPATCHER_LEASE_MS,
                                       .jobs = {orders.jobs, orders.count},
                                       .attempts = {orders.attempts, orders.count},
                                       .groups = {orders.groups, orders.count},
                                       .fences = {orders.fences, orders.count},
                                       .sessions = {orders.sessions, orders.count},
                                       .known = true,
                                       .ranks = {orders.ranks, orders.count},
                                       .drains = leasing.visit.drains};
    reply(actor, from, MSG_worker_orders, &answer, payload);
}

static void on_worker_leave(struct dispatcher_actor *actor, size_t from,
                            const struct msg_worker_leave *leave)
{
    WEIR_AUTO_FREE char *name = weir_format("worker-%zu", world_actor_of(from));
    int slot = preprocess_pool_leave(&actor->pool, name, leave->session);
    for (size_t i = 0; slot >= 0 && i < actor->lab->plan.jobs; i++)
        preprocess_job_worker_leave(&actor->jobs[i], (uint32_t)slot, leave->session);
}

static bool is_drained(const struct dispatcher_actor *actor, const char *name)
{
    int64_t now_ms = world_clock(actor->lab->world, LAB_DISPATCHER);
    int slot = preprocess_pool_slot(&actor->pool, name);
    if (slot < 0 || !preprocess_pool_is_heard(&actor->pool, (size_t)slot, now_ms))
        return true;
    const struct pool_worker *worker = &actor->pool.worker[slot];
    bool holds = worker->leases > 0;
    for (size_t i = 0; i < actor->lab->plan.jobs; i++)
        holds |= preprocess_job_holds(&actor->jobs[i], (uint32_t)slot, worker->session, now_ms);
    return !holds;
}

static void on_pool_order(struct dispatcher_actor *actor, size_t from,
                          const struct msg_pool_order *order, struct weir_bytes payload)
{
    struct weir_error err;
    const char *names[LAB_WORKERS_MAX];
    size_t count = 0;
    weir_require(preprocess_scaling_order(&actor->scaling, order, &err) == WEIR_OK);
    for (size_t i = 0; i < actor->pool.count; i++)
        actor->pool.worker[i].drains =
            preprocess_scaling_drains(&actor->scaling, actor->pool.worker[i].name);
    for (size_t i = 0; i < order->drains.count; i++) {
        if (is_drained(actor, order->drains.at[i]))
            names[count++] = order->drains.at[i];
    }
    reply(actor, from, MSG_pool_is, &(struct msg_pool_is){.drained = {names, count}}, payload);
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    if (type == MSG_client_open)
        on_client_open(self, from, message, payload);
    else if (type == MSG_client_beat)
        on_client_beat(self, from, message, payload);
    else if (type == MSG_client_commit)
        on_client_commit(self, from, message, payload);
    else if (type == MSG_worker_beat)
        on_worker_beat(self, from, message, payload);
    else if (type == MSG_worker_leave)
        on_worker_leave(self, from, message);
    else if (type == MSG_pool_order)
        on_pool_order(self, from, message, payload);
}

static uint64_t expected_behind(const struct lab_plan *plan, uint32_t rank,
                                const struct weir_position *position)
{
    uint64_t sum = 0;
    for (uint64_t batch = 0; batch < preprocess_batches(&plan->geometry); batch++) {
        struct preprocess_range slice = preprocess_slice(&plan->geometry, batch, rank);
        uint32_t epoch = preprocess_epoch_of(&plan->geometry, batch);
        for (uint32_t i = 0; i < slice.count && !weir_position_consumed(position, batch); i++)
            sum += weir_fingerprint(lab_id_at(plan, epoch, slice.first + i), epoch);
    }
    return sum;
}

static uint64_t expected_of(const struct dispatcher_actor *actor, size_t job)
{
    const struct lab_plan *plan = &actor->lab->plan;
    static const struct weir_position beginning;
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < plan->geometry.ranks; rank++) {
        const struct weir_position *begun = &actor->records[job].seats[rank].begun;
        if (plan->delivery == WEIR_AT_MOST_ONCE)
            sum += begun->tally.fingerprint + expected_behind(plan, rank, begun);
        else
            sum += expected_behind(plan, rank, &beginning);
    }
    return sum;
}

/* Samples of the set that the final model lacks, and those that it has more than once. A hole that is passed twice, as
 * at_least_once may, puts nothing into it twice. */
static void count_ledger(const struct lab *lab, const struct lab_job *job, uint64_t *ret_missing,
                         uint64_t *ret_again)
{
    struct lab_ledger expected;
    *ret_missing = *ret_again = 0;
    lab_expect(&lab->plan, &expected);
    for (size_t epoch = 0; epoch < LAB_EPOCHS_MAX; epoch++) {
        for (size_t i = 0; i < LAB_SAMPLES_MAX; i++) {
            uint8_t want = expected.seen[epoch][i], has = job->ledger.seen[epoch][i];
            for (size_t rank = 0; rank < LAB_RANKS_MAX; rank++)
                has = (uint8_t)(has + job->made[rank].seen[epoch][i]);
            *ret_missing += want > has ? want - has : 0;
            bool is_hole = lab->erased_epoch[i] != 0 && lab->plan.delivery == WEIR_AT_LEAST_ONCE;
            *ret_again += has > want && !is_hole ? has - want : 0;
        }
    }
}

/* Returns the audit that a dispatcher that just started would give. */
static struct dispatcher_audit audit_of(struct dispatcher_actor *actor, size_t number)
{
    struct dispatcher_job job;
    struct dispatcher_about about = about_of(actor->lab, number);
    preprocess_job_init(&job, &about, &actor->fences);
    preprocess_job_restore(&job, &actor->records[number], true);
    struct dispatcher_audit audit = preprocess_job_audit(&job, expected_of(actor, number));
    preprocess_job_fini(&job);
    return audit;
}

static void check_audit(struct dispatcher_actor *actor, size_t job)
{
    struct lab *lab = actor->lab;
    enum weir_delivery delivery = lab->plan.delivery;
    struct dispatcher_audit audit = audit_of(actor, job);
    uint64_t missing, again;
    count_ledger(lab, &lab->jobs[job], &missing, &again);
    lab_check(lab, audit.kept, "audit: lost %llu, duplicated %llu, not as promised",
              (unsigned long long)audit.lost, (unsigned long long)audit.duplicated);
    lab_check(lab, audit.lost == missing && (missing == 0 || delivery == WEIR_AT_MOST_ONCE),
              "audit: lost %llu, the model lacks %llu", (unsigned long long)audit.lost,
              (unsigned long long)missing);
    lab_check(lab, again == 0 || delivery == WEIR_AT_LEAST_ONCE, "%llu samples are in it twice",
              (unsigned long long)again);
    lab_check(lab, audit.duplicated >= again, "audit: duplicated %llu, the model has %llu",
              (unsigned long long)audit.duplicated, (unsigned long long)again);
    lab_check(lab, audit.tally.delivered + audit.tally.erased + audit.lost == audit.set,
              "audit: %llu delivered of %llu", (unsigned long long)audit.tally.delivered,
              (unsigned long long)audit.set);
    lab->replayed += audit.replayed;
    lab->lost += audit.lost;
    lab->duplicated += again;
    preprocess_record_fini(&actor->records[job]);
}

void lab_dispatcher_check_audits(void *dispatcher)
{
    struct dispatcher_actor *actor = dispatcher;
    for (size_t i = 0; i < actor->lab->plan.jobs; i++)
        check_audit(actor, i);
}

void *lab_add_dispatcher(struct lab *lab)
{
    struct dispatcher_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    lab_add(lab, LAB_DISPATCHER,
            &(struct world_actor){.name = "dispatcher",
                                  .self = actor,
                                  .start = start,
                                  .stop = stop,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
