/* A trainer in the simulated world: one rank's loop, which takes batches, steps, and saves states.
 * Durable is its rank's disk: positions, and (for the checks) the ledger of what went into the
 * weights. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/simulation/delivery_lab.h"
#include "trainer_client/delivery.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 200, PENDING_MAX = 16, RESIZE_EVERY = 16 };

struct trainer_actor {
    struct lab *lab;
    struct lab_job *job;
    uint64_t job_number;
    size_t number; /* of the actor */
    uint32_t rank;
    bool is_twin, is_asleep; /* it comes some time later */
    /* volatile */
    uint64_t session;
    struct delivery *delivery;
    struct lab_ledger ledger; /* of the weights in memory */
    struct delivery_batch *held;
    bool is_consumed;              /* the one that is held */
    uint64_t pending[PENDING_MAX]; /* batches that were released and are not consumed yet */
    size_t pending_count;
    int64_t step_until_ms;
    uint32_t since_checkpoint;
    int64_t commit_due_ms; /* client_commit */
    int64_t hold_sent_ms;  /* 0: none open */
    int64_t hold_retry_ms;
    uint64_t next_number; /* deterministic order: what must come next */
    uint64_t begun;       /* batches in the state the attempt began from */
    uint64_t steps;       /* batches handed out since */
    bool is_idle;         /* not started yet, done, or superseded: no process */
    bool is_done;
};

/* Mark that requests carry and replies echo, as request numbers would. */
struct stamp {
    uint64_t session;
    int64_t value;
};

/* ---- the disk ---- */

static struct lab_disk *disk_of(struct trainer_actor *actor)
{
    return &actor->job->disk[actor->rank];
}

/* The newest state of at most so many batches; NULL: the beginning. */
static const struct lab_state *newest_state(struct trainer_actor *actor, uint64_t batches)
{
    const struct lab_disk *disk = disk_of(actor);
    for (size_t i = disk->count; i-- > 0;)
        if (disk->state[i].batches <= batches)
            return &disk->state[i];
    return NULL;
}

/* Removes the states of more batches: the group has begun again before them. */
static void cut_states(struct trainer_actor *actor, uint64_t batches)
{
    struct lab_disk *disk = disk_of(actor);
    while (disk->count > 0 && disk->state[disk->count - 1].batches > batches)
        disk->count--;
}

/* States older than the common one may go. */
static void prune_states(struct trainer_actor *actor)
{
    struct lab_disk *disk = disk_of(actor);
    uint64_t common = trainer_delivery_common(actor->delivery);
    while (disk->count > 1 && disk->state[0].batches < common) {
        struct lab_state first = disk->state[0];
        memmove(&disk->state[0], &disk->state[1], (disk->count - 1) * sizeof(first));
        disk->state[--disk->count] = (struct lab_state){.position = first.position};
    }
}

static void write_state(struct trainer_actor *actor)
{
    struct lab_disk *disk = disk_of(actor);
    const struct weir_position *position = trainer_delivery_position(actor->delivery);
    uint64_t batches = weir_position_batches(position);
    prune_states(actor);
    cut_states(actor, batches - (batches > 0));
    if (disk->count == LAB_STATES_MAX)
        disk->count--; /* a rank that is far behind: then all begin earlier */
    struct lab_state *state = &disk->state[disk->count++];
    state->batches = batches;
    state->ledger = actor->ledger;
    weir_buf_clear(&state->position);
    weir_position_pack(position, &state->position);
    weir_require(state->position.size <= WEIR_POSITION_BYTES_MAX);
}

/* ---- life ---- */

/* Opens with the newest state of at most so many batches. */
static void begin(struct trainer_actor *actor, uint64_t batches)
{
    struct lab *lab = actor->lab;
    const struct lab_state *state = newest_state(actor, batches);
    struct weir_position position = {0};
    struct weir_error err;
    if (state != NULL)
        weir_require(weir_position_unpack(weir_buf_view(&state->position), &position, &err) ==
                     WEIR_OK);
    bool names = lab->plan.delivery != WEIR_AT_LEAST_ONCE || lab->plan.names_state;
    actor->session = weir_rng_next(world_rng(lab->world)) | 1;
    actor->delivery = trainer_delivery_new(actor->job_number, actor->session,
                                           lab->plan.window_bytes, names ? &position : NULL);
    trainer_delivery_take_part(actor->delivery, actor->rank, lab->plan.geometry.ranks);
    weir_position_fini(&position);
    actor->ledger = state != NULL ? state->ledger : (struct lab_ledger){0};
    actor->held = NULL;
    actor->is_consumed = false;
    actor->pending_count = 0;
    actor->since_checkpoint = 0;
    actor->commit_due_ms = actor->hold_sent_ms = actor->hold_retry_ms = 0;
    actor->next_number = actor->steps = 0;
    for (uint32_t worker = 0; worker < lab->plan.workers; worker++)
        trainer_delivery_worker_join(actor->delivery, worker);
}

static void start(void *self)
{
    struct trainer_actor *actor = self;
    actor->is_idle = actor->is_asleep;
    actor->is_done = false;
    begin(actor, UINT64_MAX);
}

/* Batch numbers mean the same samples whoever makes them: all of the slice, in its order. */
static void check_content(const struct trainer_actor *actor, const struct delivery_batch *batch)
{
    const struct lab_plan *plan = &actor->lab->plan;
    struct preprocess_range slice = preprocess_slice(&plan->geometry, batch->number, actor->rank);
    uint32_t epoch = preprocess_epoch_of(&plan->geometry, batch->number);
    size_t live = 0, holes = 0;
    for (uint64_t p = slice.first; p < slice.first + slice.count; p++) {
        uint64_t id = lab_id_at(plan, epoch, p);
        if (live < batch->samples && batch->ids[live] == id)
            live++;
        else if (holes < batch->hole_count && batch->holes[holes] == id)
            holes++;
        else
            lab_check(actor->lab, false, "batch %llu of rank %u lacks a sample of its slice",
                      (unsigned long long)batch->number, actor->rank);
    }
    lab_check(actor->lab, live == batch->samples && holes == batch->hole_count,
              "batch %llu of rank %u holds more than its slice", (unsigned long long)batch->number,
              actor->rank);
}

static void count(struct trainer_actor *actor, const struct delivery_batch *batch)
{
    struct lab *lab = actor->lab;
    bool is_kept = lab->plan.delivery == WEIR_AT_LEAST_ONCE; /* the weights live elsewhere */
    struct lab_ledger *ledger = is_kept ? &actor->job->ledger : &actor->ledger;
    uint64_t epoch = trainer_delivery_epoch_of(actor->delivery, batch->number);
    for (size_t i = 0; i < batch->samples; i++)
        ledger->seen[epoch][batch->ids[i] - LAB_FIRST_ID]++;
    for (size_t i = 0; i < batch->hole_count; i++) {
        size_t sample = batch->holes[i] - LAB_FIRST_ID;
        lab_check(lab, lab->erased_epoch[sample] != 0, "a hole for a sample that was never erased");
        ledger->seen[epoch][sample]++;
    }
    check_content(actor, batch);
}

static void free_batch(struct delivery_batch *batch)
{
    free(batch->payload);
    free(batch);
}

/* Batches of holes alone are consumed unseen; all others that come back here were given up. */
static void sweep(struct trainer_actor *actor)
{
    for (struct delivery_batch *batch;
         (batch = trainer_delivery_discarded(actor->delivery)) != NULL;) {
        if (batch->samples == 0 &&
            weir_position_consumed(trainer_delivery_position(actor->delivery), batch->number))
            count(actor, batch);
        free_batch(batch);
    }
}

static void stop(void *self)
{
    struct trainer_actor *actor = self;
    trainer_delivery_discard_all(actor->delivery);
    for (struct delivery_batch *batch;
         (batch = trainer_delivery_discarded(actor->delivery)) != NULL;)
        free_batch(batch);
    trainer_delivery_free(actor->delivery);
    actor->delivery = NULL;
}

static void send(struct trainer_actor *actor, size_t to, enum weir_message type,
                 const void *message, int64_t stamp)
{
    struct stamp both = {actor->session, stamp};
    world_send(actor->lab->world, actor->number, to, type, message,
               weir_bytes(&both, sizeof(both)));
}

/* The process goes on with another opening of the client. */
static void reopen(struct trainer_actor *actor, uint64_t batches)
{
    stop(actor);
    begin(actor, batches);
}

/* Totals are the same on all ranks, and what these are handed adds up to them, whatever was erased in between. */
static void check_totals(struct trainer_actor *actor, const struct delivery_batch *batch)
{
    struct lab *lab = actor->lab;
    struct lab_share *mine = &actor->job->share[actor->rank][batch->number];
    uint64_t samples = 0, longest = 0;
    *mine = (struct lab_share){.attempt = batch->attempt,
                               .samples = batch->samples,
                               .longest = batch->longest,
                               .total_samples = batch->total_samples,
                               .total_longest = batch->total_longest,
                               .total_weight = batch->total_weight};
    for (uint32_t rank = 0; rank < lab->plan.geometry.ranks; rank++) {
        const struct lab_share *share = &actor->job->share[rank][batch->number];
        if (share->attempt != batch->attempt)
            return;
        samples += share->samples;
        longest = share->longest > longest ? share->longest : longest;
        lab_check(lab,
                  share->total_samples == batch->total_samples &&
                      share->total_weight == batch->total_weight &&
                      share->total_longest == batch->total_longest,
                  "batch %llu: ranks %u and %u were told other totals",
                  (unsigned long long)batch->number, rank, actor->rank);
    }
    lab_check(
        lab, samples == batch->total_samples && (double)samples * LAB_WEIGHT == batch->total_weight,
        "batch %llu of attempt %llu: %llu samples are handed out, its total is %llu of weight %g",
        (unsigned long long)batch->number, (unsigned long long)batch->attempt,
        (unsigned long long)samples, (unsigned long long)batch->total_samples, batch->total_weight);
    lab_check(lab, longest == batch->total_longest,
              "batch %llu: the longest row of its slices is %llu, all were told %llu",
              (unsigned long long)batch->number, (unsigned long long)longest,
              (unsigned long long)batch->total_longest);
}

static void check_handed_out(struct trainer_actor *actor, const struct delivery_batch *batch)
{
    struct lab *lab = actor->lab;
    uint8_t *handed = &actor->job->handed[actor->rank][batch->number];
    lab_check(lab, *handed == 0 || lab->plan.delivery != WEIR_AT_MOST_ONCE,
              "batch %llu is handed to rank %u twice", (unsigned long long)batch->number,
              actor->rank);
    *handed = 1;
    actor->steps++;
    check_totals(actor, batch);
    for (size_t i = 0; i < batch->samples; i++) {
        uint64_t epoch = lab->erased_epoch[batch->ids[i] - LAB_FIRST_ID];
        lab_check(lab, epoch == 0 || epoch > lab->forced_epoch,
                  "batch %llu holds a sample whose erasure (epoch %llu) is in force",
                  (unsigned long long)batch->number, (unsigned long long)epoch);
    }
    if (!lab->plan.deterministic)
        return;
    lab_check(lab, batch->number >= actor->next_number, "batch %llu after %llu: out of order",
              (unsigned long long)batch->number, (unsigned long long)actor->next_number);
    actor->next_number = batch->number + 1;
}

static void consume(struct trainer_actor *actor, uint64_t number)
{
    lab_check(actor->lab, trainer_delivery_consume(actor->delivery, number),
              "batch %llu was handed out and cannot be consumed", (unsigned long long)number);
    lab_check(actor->lab, !trainer_delivery_consume(actor->delivery, number),
              "batch %llu can be consumed twice", (unsigned long long)number);
}

/* The step that several batches were gathered for. */
static void consume_pending(struct trainer_actor *actor)
{
    while (actor->pending_count > 0)
        consume(actor, actor->pending[--actor->pending_count]);
}

static void save_checkpoint(struct trainer_actor *actor, bool final)
{
    consume_pending(actor);
    write_state(actor);
    actor->since_checkpoint = 0;
    struct weir_error err;
    enum weir_status status = trainer_delivery_commit(
        actor->delivery, trainer_delivery_position(actor->delivery), final, &err);
    lab_check(actor->lab, status == WEIR_OK, "commit refused: %s", err.text);
    actor->commit_due_ms = 0;
}

static void finish(struct trainer_actor *actor)
{
    const struct lab_plan *plan = &actor->lab->plan;
    struct msg_client_commit open;
    if (trainer_delivery_commit_open(actor->delivery, &open) != 0 && open.final)
        return;
    lab_check(actor->lab,
              plan->geometry.ranks == 1 ||
                  actor->begun + actor->steps == preprocess_batches(&plan->geometry),
              "rank %u took %llu steps from %llu on", actor->rank, (unsigned long long)actor->steps,
              (unsigned long long)actor->begun);
    save_checkpoint(actor, true);
}

static bool chance(struct trainer_actor *actor, uint64_t of)
{
    return weir_rng_below(world_rng(actor->lab->world), of) == 0;
}

/* The batch is in the weights, and the loop keeps it for a while. */
static void linger(struct trainer_actor *actor, int64_t now)
{
    count(actor, actor->held);
    consume(actor, actor->held->number);
    actor->is_consumed = true;
    actor->step_until_ms = now + (int64_t)weir_rng_below(world_rng(actor->lab->world), 40);
}

static void release(struct trainer_actor *actor)
{
    if (!actor->is_consumed) {
        count(actor, actor->held);
        actor->pending[actor->pending_count++] = actor->held->number;
    }
    free_batch(trainer_delivery_release(actor->delivery, actor->held));
    actor->held = NULL;
    actor->is_consumed = false;
    if (actor->pending_count == PENDING_MAX || chance(actor, 2))
        consume_pending(actor);
    sweep(actor);
    if (++actor->since_checkpoint >= actor->lab->plan.checkpoint_batches &&
        !trainer_delivery_must_regroup(actor->delivery))
        save_checkpoint(actor, false);
}

static void step(struct trainer_actor *actor, int64_t now)
{
    if (actor->held != NULL && now >= actor->step_until_ms) {
        if (!actor->is_consumed && chance(actor, 4))
            linger(actor, now);
        else
            release(actor);
    }
    if (actor->held != NULL || !trainer_delivery_is_open(actor->delivery))
        return;
    enum delivery_offer offer = trainer_delivery_next(actor->delivery, now, &actor->held);
    sweep(actor);
    if (offer == DELIVERY_BATCH) {
        check_handed_out(actor, actor->held);
        actor->step_until_ms = now + (int64_t)weir_rng_below(world_rng(actor->lab->world), 40);
    } else if (offer == DELIVERY_END) {
        consume_pending(actor);
        finish(actor);
    } else if (offer == DELIVERY_REGROUP) {
        reopen(actor, UINT64_MAX);
    }
}

static void talk_to_dispatcher(struct trainer_actor *actor, int64_t now)
{
    if (trainer_delivery_open_due(actor->delivery, now)) {
        struct msg_client_open ask;
        trainer_delivery_open(actor->delivery, now, &ask);
        send(actor, LAB_DISPATCHER, MSG_client_open, &ask, now);
    }
    if (trainer_delivery_beat_due(actor->delivery, now)) {
        struct msg_client_beat beat;
        trainer_delivery_beat(actor->delivery, now, &beat);
        send(actor, LAB_DISPATCHER, MSG_client_beat, &beat, now);
    }
    struct msg_client_commit commit;
    uint64_t number = trainer_delivery_commit_open(actor->delivery, &commit);
    if (number != 0 && now >= actor->commit_due_ms) {
        actor->commit_due_ms = now + ASK_MS;
        send(actor, LAB_DISPATCHER, MSG_client_commit, &commit, (int64_t)number);
    }
}

/* As a client does that has measured something else, down to nothing. */
static void resize(struct trainer_actor *actor)
{
    struct weir_rng *rng = world_rng(actor->lab->world);
    if (actor->lab->plan.window_changes && weir_rng_below(rng, RESIZE_EVERY) == 0)
        trainer_delivery_resize(actor->delivery, weir_rng_below(rng, LAB_WINDOW_MAX));
}

static void talk_to_workers_and_storage(struct trainer_actor *actor, int64_t now)
{
    resize(actor);
    for (uint32_t worker = 0;
         worker < actor->lab->plan.workers && trainer_delivery_is_open(actor->delivery); worker++) {
        if (!trainer_delivery_credit_due(actor->delivery, worker, now))
            continue;
        struct msg_credit credit;
        trainer_delivery_credit(actor->delivery, worker, now, &credit);
        send(actor, lab_first_worker(&actor->lab->plan) + worker, MSG_credit, &credit, now);
    }
    bool retry = actor->hold_sent_ms != 0 && now >= actor->hold_retry_ms;
    if (retry || (actor->hold_sent_ms == 0 && trainer_delivery_hold_due(actor->delivery, now))) {
        struct msg_hold hold;
        trainer_delivery_hold(actor->delivery, now, &hold);
        hold.holder = "trainer";
        actor->hold_sent_ms = now;
        actor->hold_retry_ms = now + 500;
        send(actor, LAB_STORAGE, MSG_hold, &hold, now);
    }
}

static bool is_time(const struct trainer_actor *actor)
{
    const struct lab_plan *plan = &actor->lab->plan;
    return actor->is_twin
               ? actor->lab->twin_awake
               : world_now(actor->lab->world) >= plan->begin_ms[actor->job_number - LAB_JOB];
}

static int64_t tick(void *self)
{
    struct trainer_actor *actor = self;
    int64_t now = world_clock(actor->lab->world, actor->number);
    bool must_return = actor->is_done && !actor->job->finished;
    if (must_return || (actor->is_asleep && is_time(actor))) {
        actor->is_asleep = actor->is_idle = false;
        actor->is_done = false;
        reopen(actor, UINT64_MAX);
    }
    if (actor->is_idle)
        return 50;
    step(actor, now);
    talk_to_dispatcher(actor, now);
    talk_to_workers_and_storage(actor, now);
    return 1 + (int64_t)weir_rng_below(world_rng(actor->lab->world), 10);
}

static void on_batch(struct trainer_actor *actor, size_t from, const struct msg_batch *message,
                     struct weir_bytes payload)
{
    size_t ids_bytes = message->samples * sizeof(uint64_t), hole_count = message->hole_states.count;
    size_t states_bytes = hole_count * sizeof(uint32_t);
    uint8_t *kept = weir_calloc(1, payload.size + states_bytes + 1);
    if (payload.size > 0)
        memcpy(kept, payload.at, payload.size);
    if (states_bytes > 0)
        memcpy(kept + payload.size, message->hole_states.at, states_bytes);
    struct delivery_batch *batch = weir_calloc(1, sizeof(*batch));
    *batch = (struct delivery_batch){
        .job = message->job,
        .attempt = message->attempt,
        .session = message->session,
        .worker_session = message->worker_session,
        .number = message->batch,
        .group = message->group,
        .fence = message->fence,
        .erasure_epoch = message->erasure_epoch,
        .bytes = message->bytes,
        .sent = message->sent,
        .ids = (const uint64_t *)(void *)kept,
        .holes = (const uint64_t *)(void *)(kept + ids_bytes),
        .hole_states = (const uint32_t *)(void *)(kept + payload.size),
        .samples = message->samples,
        .weight = (double)message->samples * LAB_WEIGHT,
        .hole_count = hole_count,
        .worker = (uint32_t)(world_actor_of(from) - lab_first_worker(&actor->lab->plan)),
        .payload = kept};
    batch->longest = batch->samples > 0 ? batch->ids[0] : 0; /* differs between slices */
    if (trainer_delivery_arrive(actor->delivery, batch) != DELIVERY_ACCEPTED)
        free_batch(batch);
    sweep(actor);
}

static void on_committed(struct trainer_actor *actor, uint64_t number,
                         const struct msg_client_committed *answer)
{
    struct lab *lab = actor->lab;
    struct msg_client_commit open;
    bool was_final = trainer_delivery_commit_open(actor->delivery, &open) == number && open.final;
    trainer_delivery_committed(actor->delivery, number, answer);
    if (!was_final || trainer_delivery_commit_open(actor->delivery, &open) != 0)
        return;
    actor->is_done = actor->is_idle = true;
    if (!actor->job->finished || actor->job->holder[actor->rank] != actor->session)
        return; /* whoever has the rank now makes its part of the model */
    if (lab->plan.delivery != WEIR_AT_LEAST_ONCE)
        actor->job->made[actor->rank] = actor->ledger; /* nothing came after the final state */
    actor->job->done[actor->rank] = true;
}

static void on_opened(struct trainer_actor *actor, const struct msg_client_opened *answer)
{
    struct weir_error err;
    bool was_open = trainer_delivery_is_open(actor->delivery);
    enum weir_status status = trainer_delivery_opened(actor->delivery, answer, &err);
    if (status == WEIR_STALE) {
        actor->is_idle = true;
    } else if (status == WEIR_RESTART) {
        reopen(actor, trainer_delivery_wanted(actor->delivery));
    } else {
        lab_check(actor->lab, status == WEIR_OK, "client_opened refused: %s", err.text);
        if (was_open || !trainer_delivery_is_open(actor->delivery))
            return;
        actor->begun = weir_position_batches(trainer_delivery_position(actor->delivery));
        cut_states(actor, actor->begun);
    }
}

static void on_reply(struct trainer_actor *actor, enum weir_message type, const void *message,
                     struct weir_bytes payload)
{
    struct stamp stamp;
    weir_require(payload.size == sizeof(stamp));
    memcpy(&stamp, payload.at, sizeof(stamp));
    if (stamp.session != actor->session)
        return;
    if (type == MSG_client_opened) {
        on_opened(actor, message);
    } else if (type == MSG_client_orders) {
        trainer_delivery_ordered(actor->delivery, message);
        actor->is_idle |= trainer_delivery_is_superseded(actor->delivery);
    } else if (type == MSG_client_committed) {
        on_committed(actor, (uint64_t)stamp.value, message);
    } else if (type == MSG_hold_is && stamp.value == actor->hold_sent_ms) {
        if (world_clock(actor->lab->world, actor->number) - actor->hold_sent_ms <=
            DELIVERY_ANSWER_MS)
            trainer_delivery_held(actor->delivery, actor->hold_sent_ms, message);
        actor->hold_sent_ms = 0;
        sweep(actor);
    }
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    struct trainer_actor *actor = self;
    if (type == MSG_batch)
        on_batch(actor, from, message, payload);
    else if (type == MSG_erased)
        trainer_delivery_hint(actor->delivery, ((const struct msg_erased *)message)->epoch);
    else
        on_reply(actor, type, message, payload);
}

void *lab_add_trainer(struct lab *lab, size_t index)
{
    struct trainer_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    actor->number = LAB_FIRST_TRAINER + index;
    uint32_t ranks = lab->plan.geometry.ranks;
    actor->is_twin = index >= lab->plan.jobs * ranks;
    size_t job = actor->is_twin ? 0 : index / ranks;
    actor->is_asleep = actor->is_twin || lab->plan.begin_ms[job] > 0;
    actor->rank = actor->is_twin ? lab->plan.twin_of : (uint32_t)(index % ranks);
    actor->job = &lab->jobs[job];
    actor->job_number = LAB_JOB + job;
    lab_add(lab, actor->number,
            &(struct world_actor){.name = "trainer",
                                  .self = actor,
                                  .start = start,
                                  .stop = stop,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
