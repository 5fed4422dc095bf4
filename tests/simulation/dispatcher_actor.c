/* The dispatcher in the simulated world: the record and the incarnation are durable, leases are not. */
#include "preprocess/dispatcher/job.h"

#include "core/base/memory.h"
#include "tests/simulation/delivery_lab.h"

#include <string.h>

struct dispatcher_actor {
    struct lab *lab;
    /* durable */
    uint64_t incarnation;
    struct dispatcher_record record;
    /* volatile */
    struct dispatcher_fences fences;
    struct dispatcher_job job;
};

static void start(void *self)
{
    struct dispatcher_actor *actor = self;
    actor->incarnation++;
    actor->fences.newest = actor->incarnation << 32;
    struct dispatcher_about about = {.job = LAB_JOB, .geometry = actor->lab->plan.geometry};
    dispatcher_job_init(&actor->job, &about, &actor->fences);
    dispatcher_job_restore(&actor->job, &actor->record, true);
}

static void stop(void *self)
{
    dispatcher_job_fini(&((struct dispatcher_actor *)self)->job);
}

/* What the rim does before it answers; the report alone may wait. */
static void save(struct dispatcher_actor *actor, bool report_too)
{
    if (!actor->job.unsaved && !(report_too && actor->job.report_unsaved))
        return;
    dispatcher_record_fini(&actor->record);
    dispatcher_record_copy(&actor->record, &actor->job.record);
    actor->job.unsaved = actor->job.report_unsaved = false;
}

static int64_t tick(void *self)
{
    save(self, true);
    return 200;
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
    weir_require(weir_position_unpack(ask->position, &position, &err) == WEIR_OK);
    enum weir_status status =
        dispatcher_job_client_open(&actor->job, ask->session, ask->after, &position, &opened, &err);
    weir_position_fini(&position);
    if (status != WEIR_OK)
        return;
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
                                           lab->plan.geometry.last == PREPROCESS_LAST_DROP};
    reply(actor, from, MSG_client_opened, &answer, payload);
}

static void on_client_beat(struct dispatcher_actor *actor, size_t from,
                           const struct msg_client_beat *beat, struct weir_bytes payload)
{
    struct msg_client_orders orders = {0};
    struct weir_error err;
    enum weir_status status =
        dispatcher_job_client_beat(&actor->job, beat, world_now(actor->lab->world), &orders, &err);
    lab_check(actor->lab, status == WEIR_OK, "a beat was refused: %s", err.text);
    save(actor, false);
    reply(actor, from, MSG_client_orders, &orders, payload);
}

static void on_client_commit(struct dispatcher_actor *actor, size_t from,
                             const struct msg_client_commit *commit, struct weir_bytes payload)
{
    struct weir_error err;
    if (dispatcher_job_client_commit(&actor->job, commit, &err) != WEIR_OK)
        return;
    save(actor, false);
    struct msg_client_committed answer;
    memset(&answer, 0, sizeof(answer)); /* it has no fields */
    reply(actor, from, MSG_client_committed, &answer, payload);
}

static void on_worker_beat(struct dispatcher_actor *actor, size_t from,
                           const struct msg_worker_beat *beat, struct weir_bytes payload)
{
    struct dispatcher_held held[DISPATCHER_LEASES_MAX];
    size_t count = beat->groups.count;
    weir_require(count <= DISPATCHER_LEASES_MAX);
    for (size_t i = 0; i < count; i++)
        held[i] =
            (struct dispatcher_held){beat->groups.at[i], beat->fences.at[i], beat->sent.at[i] != 0};
    struct dispatcher_visit visit = {.worker = (uint32_t)world_actor_of(from),
                                     .session = beat->session,
                                     .held = held,
                                     .held_count = count};
    (void)dispatcher_job_worker_beat(&actor->job, &visit, beat->want, world_now(actor->lab->world));
    save(actor, false);

    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    size_t given = dispatcher_job_leases(&actor->job, visit.worker, beat->session, leases);
    uint64_t jobs[DISPATCHER_LEASES_MAX], attempts[DISPATCHER_LEASES_MAX],
        groups[DISPATCHER_LEASES_MAX];
    uint64_t fences[DISPATCHER_LEASES_MAX], sessions[DISPATCHER_LEASES_MAX];
    for (size_t i = 0; i < given; i++) {
        jobs[i] = LAB_JOB;
        attempts[i] = actor->job.record.attempt;
        groups[i] = leases[i].group;
        fences[i] = leases[i].fence;
        sessions[i] = actor->job.record.session;
    }
    struct msg_worker_orders orders = {.session = beat->session,
                                       .lease_ms = DISPATCHER_LEASE_MS,
                                       .jobs = {jobs, given},
                                       .attempts = {attempts, given},
                                       .groups = {groups, given},
                                       .fences = {fences, given},
                                       .sessions = {sessions, given},
                                       .known = true};
    reply(actor, from, MSG_worker_orders, &orders, payload);
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
}

void lab_dispatcher_check_audit(void *dispatcher)
{
    struct dispatcher_actor *actor = dispatcher;
    const struct lab *lab = actor->lab;
    uint64_t expected = 0;
    for (uint32_t epoch = 0; epoch < lab->plan.geometry.epochs; epoch++)
        for (uint64_t position = 0; position < preprocess_epoch_positions(&lab->plan.geometry);
             position++)
            expected += weir_fingerprint(lab_id_at(&lab->plan, epoch, position), epoch);
    struct dispatcher_job job; /* as a dispatcher that just started would answer */
    struct dispatcher_about about = {.job = LAB_JOB, .geometry = lab->plan.geometry};
    dispatcher_job_init(&job, &about, &actor->fences);
    dispatcher_job_restore(&job, &actor->record, true);
    struct dispatcher_audit audit = dispatcher_job_audit(&job, expected);
    dispatcher_job_fini(&job);
    lab_check(lab, audit.lost == 0 && audit.duplicated == 0, "audit: lost %llu, duplicated %llu",
              (unsigned long long)audit.lost, (unsigned long long)audit.duplicated);
    lab_check(lab, audit.tally.delivered + audit.tally.erased == audit.set,
              "audit: %llu delivered of %llu", (unsigned long long)audit.tally.delivered,
              (unsigned long long)audit.set);
    actor->lab->replayed = audit.replayed;
    dispatcher_record_fini(&actor->record);
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
