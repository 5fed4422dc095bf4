/* The trainer in the simulated world: a loop that takes batches, steps, and checkpoints. Durable is what its newest
 * checkpoint holds: the position, and (for the checks) the ledger of what went into the model. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/simulation/delivery_lab.h"
#include "trainer_client/delivery.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 200 };

struct trainer_actor {
    struct lab *lab;
    /* durable */
    struct weir_buf checkpoint;
    struct lab_ledger durable;
    /* volatile */
    uint64_t session;
    uint64_t after; /* newest attempt known of */
    struct delivery *delivery;
    struct lab_ledger ledger; /* of the weights in memory */
    struct delivery_batch *held;
    int64_t step_until_ms;
    uint32_t since_checkpoint;
    int64_t ask_due_ms;   /* client_open, client_commit */
    int64_t hold_sent_ms; /* 0: none open */
    int64_t hold_retry_ms;
    uint64_t next_number; /* deterministic order: what must come next */
};

static void start(void *self)
{
    struct trainer_actor *actor = self;
    struct lab *lab = actor->lab;
    struct weir_position position = {0};
    struct weir_error err;
    weir_require(weir_position_unpack(weir_buf_view(&actor->checkpoint), &position, &err) ==
                 WEIR_OK);
    actor->session = weir_rng_next(world_rng(lab->world)) | 1;
    actor->delivery = delivery_new(LAB_JOB, actor->session, lab->plan.window_bytes, &position);
    actor->next_number = position.oldest;
    weir_position_fini(&position);
    actor->after = 0;
    actor->ledger = actor->durable;
    actor->held = NULL;
    actor->since_checkpoint = 0;
    actor->ask_due_ms = actor->hold_sent_ms = actor->hold_retry_ms = 0;
    for (uint32_t worker = 0; worker < lab->plan.workers; worker++)
        delivery_worker_join(actor->delivery, worker);
}

static void count(struct trainer_actor *actor, const struct delivery_batch *batch)
{
    uint64_t epoch = delivery_epoch_of(actor->delivery, batch->number);
    for (size_t i = 0; i < batch->samples; i++)
        actor->ledger.seen[epoch][batch->ids[i] - LAB_FIRST_ID]++;
    for (size_t i = 0; i < batch->hole_count; i++) {
        size_t sample = batch->holes[i] - LAB_FIRST_ID;
        lab_check(actor->lab, actor->lab->erased_epoch[sample] != 0,
                  "a hole for a sample that was never erased");
        actor->ledger.seen[epoch][sample]++;
    }
}

static void free_batch(struct delivery_batch *batch)
{
    free(batch->payload);
    free(batch);
}

/* Batches of holes alone are consumed unseen; all others that come back here were given up. */
static void sweep(struct trainer_actor *actor)
{
    for (struct delivery_batch *batch; (batch = delivery_discarded(actor->delivery));) {
        if (batch->samples == 0 &&
            weir_position_consumed(delivery_position(actor->delivery), batch->number))
            count(actor, batch);
        free_batch(batch);
    }
}

static void stop(void *self)
{
    struct trainer_actor *actor = self;
    delivery_discard_all(actor->delivery);
    for (struct delivery_batch *batch; (batch = delivery_discarded(actor->delivery));)
        free_batch(batch);
    delivery_free(actor->delivery);
    actor->delivery = NULL;
}

static void send(struct trainer_actor *actor, size_t to, enum weir_message type,
                 const void *message, int64_t stamp)
{
    world_send(actor->lab->world, LAB_TRAINER, to, type, message, lab_stamp(&stamp));
}

static void ask_to_open(struct trainer_actor *actor, int64_t now)
{
    struct msg_client_open ask = {.job = LAB_JOB,
                                  .session = actor->session,
                                  .position = weir_buf_view(&actor->checkpoint),
                                  .after = actor->after};
    send(actor, LAB_DISPATCHER, MSG_client_open, &ask, now);
}

static void check_handed_out(struct trainer_actor *actor, const struct delivery_batch *batch)
{
    const struct lab *lab = actor->lab;
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

static void save_checkpoint(struct trainer_actor *actor, bool final)
{
    weir_buf_clear(&actor->checkpoint);
    weir_position_pack(delivery_position(actor->delivery), &actor->checkpoint);
    weir_require(actor->checkpoint.size <= WEIR_POSITION_BYTES_MAX);
    actor->durable = actor->ledger;
    actor->since_checkpoint = 0;
    struct weir_error err;
    enum weir_status status =
        delivery_commit(actor->delivery, delivery_position(actor->delivery), final, &err);
    lab_check(actor->lab, status == WEIR_OK, "commit refused: %s", err.text);
    actor->ask_due_ms = 0;
}

static void step(struct trainer_actor *actor, int64_t now)
{
    struct lab *lab = actor->lab;
    if (actor->held && now >= actor->step_until_ms) {
        count(actor, actor->held);
        free_batch(delivery_release(actor->delivery, actor->held));
        actor->held = NULL;
        sweep(actor);
        if (++actor->since_checkpoint >= lab->plan.checkpoint_batches)
            save_checkpoint(actor, false);
    }
    if (actor->held || !delivery_is_open(actor->delivery))
        return;
    enum delivery_turn turn = delivery_next(actor->delivery, now, &actor->held);
    sweep(actor);
    if (turn == DELIVERY_BATCH) {
        check_handed_out(actor, actor->held);
        actor->step_until_ms = now + (int64_t)weir_rng_below(world_rng(lab->world), 40);
    } else if (turn == DELIVERY_END && delivery_is_complete(actor->delivery)) {
        struct msg_client_commit open;
        if (delivery_commit_open(actor->delivery, &open) == 0 || !open.final)
            save_checkpoint(actor, true);
    }
}

static void talk_to_dispatcher(struct trainer_actor *actor, int64_t now)
{
    if (!delivery_is_open(actor->delivery)) {
        if (now >= actor->ask_due_ms) {
            actor->ask_due_ms = now + ASK_MS;
            ask_to_open(actor, now);
        }
        return;
    }
    if (delivery_beat_due(actor->delivery, now)) {
        struct msg_client_beat beat;
        delivery_beat(actor->delivery, now, &beat);
        send(actor, LAB_DISPATCHER, MSG_client_beat, &beat, now);
    }
    struct msg_client_commit commit;
    uint64_t number = delivery_commit_open(actor->delivery, &commit);
    if (number != 0 && now >= actor->ask_due_ms) {
        actor->ask_due_ms = now + ASK_MS;
        send(actor, LAB_DISPATCHER, MSG_client_commit, &commit, (int64_t)number);
    }
}

static void talk_to_workers_and_storage(struct trainer_actor *actor, int64_t now)
{
    for (uint32_t worker = 0;
         worker < actor->lab->plan.workers && delivery_is_open(actor->delivery); worker++) {
        if (!delivery_credit_due(actor->delivery, worker, now))
            continue;
        struct msg_credit credit;
        delivery_credit(actor->delivery, worker, now, &credit);
        send(actor, LAB_FIRST_WORKER + worker, MSG_credit, &credit, now);
    }
    bool retry = actor->hold_sent_ms != 0 && now >= actor->hold_retry_ms;
    if (retry || (actor->hold_sent_ms == 0 && delivery_hold_due(actor->delivery, now))) {
        struct msg_hold hold;
        delivery_hold(actor->delivery, now, &hold);
        hold.holder = "trainer";
        actor->hold_sent_ms = now;
        actor->hold_retry_ms = now + 500;
        send(actor, LAB_STORAGE, MSG_hold, &hold, now);
    }
}

static int64_t tick(void *self)
{
    struct trainer_actor *actor = self;
    int64_t now = world_now(actor->lab->world);
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
    memcpy(kept, payload.at, payload.size);
    if (states_bytes > 0)
        memcpy(kept + payload.size, message->hole_states.at, states_bytes);
    struct delivery_batch *batch = weir_calloc(1, sizeof(*batch));
    *batch = (struct delivery_batch){.job = message->job,
                                     .attempt = message->attempt,
                                     .session = message->session,
                                     .worker_session = message->worker_session,
                                     .number = message->batch,
                                     .group = message->group,
                                     .fence = message->fence,
                                     .epoch = message->erasure_epoch,
                                     .bytes = message->bytes,
                                     .sent = message->sent,
                                     .ids = (const uint64_t *)(void *)kept,
                                     .holes = (const uint64_t *)(void *)(kept + ids_bytes),
                                     .hole_states = (const uint32_t *)(void *)(kept + payload.size),
                                     .samples = message->samples,
                                     .hole_count = hole_count,
                                     .worker = (uint32_t)(world_actor_of(from) - LAB_FIRST_WORKER),
                                     .payload = kept};
    if (delivery_arrive(actor->delivery, batch) != DELIVERY_ACCEPTED)
        free_batch(batch);
    sweep(actor);
}

static void on_committed(struct trainer_actor *actor, uint64_t number)
{
    struct msg_client_commit open;
    bool final = delivery_commit_open(actor->delivery, &open) == number && open.final;
    delivery_committed(actor->delivery, number);
    if (!final)
        return;
    actor->lab->ledger = actor->durable;
    actor->lab->trained = true;
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    struct trainer_actor *actor = self;
    struct weir_error err;
    if (type == MSG_client_opened && ((const struct msg_client_opened *)message)->attempt == 0) {
        actor->after = ((const struct msg_client_opened *)message)->newest;
    } else if (type == MSG_client_opened) {
        enum weir_status status = delivery_opened(actor->delivery, message, &err);
        lab_check(actor->lab, status == WEIR_OK, "client_opened refused: %s", err.text);
    } else if (type == MSG_client_orders) {
        delivery_ordered(actor->delivery, message);
    } else if (type == MSG_client_committed) {
        on_committed(actor, (uint64_t)lab_stamped(payload));
    } else if (type == MSG_batch) {
        on_batch(actor, from, message, payload);
    } else if (type == MSG_erased) {
        delivery_hint(actor->delivery, ((const struct msg_erased *)message)->epoch);
    } else if (type == MSG_hold_is && lab_stamped(payload) == actor->hold_sent_ms) {
        delivery_held(actor->delivery, actor->hold_sent_ms, message);
        actor->hold_sent_ms = 0;
        sweep(actor);
    }
}

void lab_trainer_forget(void *trainer)
{
    weir_buf_fini(&((struct trainer_actor *)trainer)->checkpoint);
}

void *lab_add_trainer(struct lab *lab)
{
    struct trainer_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    lab_add(lab, LAB_TRAINER,
            &(struct world_actor){.name = "trainer",
                                  .self = actor,
                                  .start = start,
                                  .stop = stop,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
