/* A worker in the simulated world. Nothing of it is durable. */
#include "preprocess/worker/window.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/simulation/delivery_lab.h"

#include <stdlib.h>

enum { BEAT_MS = 300, HOLD_MS = 500, LOCATE_MS = 200, REQUEST_TIMEOUT_MS = 500 };

/* One request at a time; a reply counts only for the newest. */
struct asking {
    int64_t sent_ms; /* 0: nothing open */
    int64_t due_ms;
};

/* Storage's answer about the ids of one lease. */
struct located {
    uint64_t fence;
    uint32_t states[LAB_SAMPLES_MAX];
};

struct finished {
    size_t samples, holes;
    uint64_t ids[LAB_SAMPLES_MAX], hole_ids[LAB_SAMPLES_MAX];
    uint32_t hole_states[LAB_SAMPLES_MAX];
};

struct worker_actor {
    struct lab *lab;
    size_t number; /* of the actor */
    /* volatile */
    struct worker_flow flow;
    struct window window;
    struct asking beat, hold;
    int64_t locate_due_ms;
    struct located located[WORKER_LEASES_MAX];
    size_t route[WORKER_CONSUMERS_MAX];
};

static void start(void *self)
{
    struct worker_actor *actor = self;
    int64_t now = world_clock(actor->lab->world, actor->number);
    preprocess_flow_init(&actor->flow, weir_rng_next(world_rng(actor->lab->world)) | 1);
    preprocess_window_init(&actor->window, actor->lab->plan.shared_bytes, free);
    actor->beat = actor->hold = (struct asking){.due_ms = now};
    actor->locate_due_ms = 0;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++)
        actor->located[i].fence = 0;
}

static void free_discarded(struct worker_actor *actor)
{
    for (void *payload; (payload = preprocess_flow_discarded(&actor->flow)) != NULL;)
        free(payload);
}

/* Killed, or told to end. */
static void stop(void *self)
{
    struct worker_actor *actor = self;
    bool is_orderly = weir_rng_below(world_rng(actor->lab->world), 2) == 0;
    if (is_orderly)
        world_send(actor->lab->world, actor->number, LAB_DISPATCHER, MSG_worker_leave,
                   &(struct msg_worker_leave){.worker = "worker", .session = actor->flow.session},
                   weir_bytes(NULL, 0));
    preprocess_flow_drop_all(&actor->flow);
    free_discarded(actor);
    preprocess_window_fini(&actor->window);
    preprocess_flow_fini(&actor->flow);
}

static void send_stamped(struct worker_actor *actor, size_t to, enum weir_message type,
                         const void *message)
{
    int64_t now = world_clock(actor->lab->world, actor->number);
    world_send(actor->lab->world, actor->number, to, type, message, lab_stamp(&now));
}

static bool may_ask(const struct asking *asking, int64_t now, bool urgent)
{
    if (asking->sent_ms != 0 && now < asking->sent_ms + REQUEST_TIMEOUT_MS)
        return false;
    return urgent || now >= asking->due_ms || asking->sent_ms != 0;
}

static void beat(struct worker_actor *actor, int64_t now)
{
    uint64_t jobs[WORKER_LEASES_MAX], groups[WORKER_LEASES_MAX], fences[WORKER_LEASES_MAX];
    uint32_t sent[WORKER_LEASES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &actor->flow.leases[i];
        if (lease->fence == 0)
            continue;
        jobs[count] = lease->job;
        groups[count] = lease->group;
        fences[count] = lease->fence;
        sent[count++] = preprocess_worker_lease_done(lease);
    }
    struct msg_worker_beat message = {.worker = "worker",
                                      .session = actor->flow.session,
                                      .want = preprocess_flow_want(&actor->flow),
                                      .jobs = {jobs, count},
                                      .groups = {groups, count},
                                      .fences = {fences, count},
                                      .sent = {sent, count}};
    actor->beat = (struct asking){.sent_ms = now, .due_ms = now + BEAT_MS};
    send_stamped(actor, LAB_DISPATCHER, MSG_worker_beat, &message);
}

static void hold(struct worker_actor *actor, int64_t now)
{
    struct msg_hold message = {
        .holder = "worker", .session = actor->flow.session, .epoch = actor->flow.erasure_epoch};
    actor->hold = (struct asking){.sent_ms = now, .due_ms = now + HOLD_MS};
    send_stamped(actor, LAB_STORAGE, MSG_hold, &message);
}

/* The ids of a lease, in the order of their positions. */
static size_t lease_ids(const struct lab *lab, const struct worker_lease *lease, uint64_t *ids)
{
    const struct preprocess_geometry *geometry = &lab->plan.geometry;
    struct preprocess_range batches = preprocess_group(geometry, lease->group);
    size_t count = 0;
    for (uint64_t b = batches.first; b < batches.first + batches.count; b++) {
        struct preprocess_range positions = preprocess_slice(geometry, b, lease->rank);
        for (uint64_t p = positions.first; p < positions.first + positions.count; p++)
            ids[count++] = lab_id_at(&lab->plan, preprocess_epoch_of(geometry, b), p);
    }
    return count;
}

static void locate(struct worker_actor *actor, int64_t now)
{
    actor->locate_due_ms = now + LOCATE_MS;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &actor->flow.leases[i];
        if (lease->fence == 0 || lease->batches.count > 0)
            continue;
        uint64_t ids[LAB_SAMPLES_MAX];
        struct msg_locate message = {.ids = {ids, lease_ids(actor->lab, lease, ids)}};
        world_send(actor->lab->world, actor->number, LAB_STORAGE, MSG_locate, &message,
                   weir_bytes(&lease->fence, sizeof(lease->fence)));
    }
}

static void on_located(struct worker_actor *actor, const struct msg_located *answer,
                       struct weir_bytes payload)
{
    uint64_t fence = (uint64_t)lab_stamped(payload);
    struct worker_lease *lease = preprocess_flow_lease(&actor->flow, fence);
    if (lease == NULL || lease->batches.count > 0)
        return;
    struct located *located = &actor->located[lease - actor->flow.leases];
    located->fence = fence;
    for (size_t i = 0; i < answer->states.count; i++)
        located->states[i] = answer->states.at[i];
    preprocess_flow_share(&actor->flow, fence, 1);
    preprocess_flow_begin(&actor->flow, fence,
                          preprocess_group(&actor->lab->plan.geometry, lease->group));
}

static bool finish(struct worker_actor *actor, const struct worker_make *what,
                   struct finished *made)
{
    struct worker_ready ready = {.fence = what->fence,
                                 .batch = what->batch,
                                 .bytes = LAB_BATCH_BYTES + 8 * made->samples,
                                 .ids = made->ids,
                                 .id_count = made->samples,
                                 .payload = made};
    bool is_taken = preprocess_flow_made(&actor->flow, &ready);
    if (!is_taken)
        free(made);
    return is_taken;
}

static struct window_key key_of(struct worker_actor *actor, const struct worker_make *what)
{
    const struct worker_lease *lease = preprocess_flow_lease(&actor->flow, what->fence);
    return (struct window_key){
        .production = lease->production, .batch = what->batch, .rank = lease->rank};
}

static struct finished *copy_of(const struct finished *made)
{
    struct finished *copy = weir_calloc(1, sizeof(*copy));
    *copy = *made;
    return copy;
}

/* Takes what was made for another job; false: nothing was. */
static bool take(struct worker_actor *actor, const struct worker_make *what)
{
    struct window_key key = key_of(actor, what);
    const struct finished *made = preprocess_window_find(&actor->window, &key);
    if (made == NULL)
        return false;
    actor->lab->taken++;
    return finish(actor, what, copy_of(made));
}

static bool is_needed(const void *owner, const struct window_entry *entry)
{
    const struct worker_actor *actor = owner;
    size_t job = 0;
    uint64_t reach = preprocess_window_reach(&actor->window, entry->bytes);
    while (job < actor->lab->plan.jobs &&
           !preprocess_flow_needs(&actor->flow, LAB_JOB + job, entry->key.batch, reach, true))
        job++;
    return job < actor->lab->plan.jobs;
}

static void give(struct worker_actor *actor, const struct worker_make *what,
                 const struct finished *made)
{
    struct finished *copy = copy_of(made);
    preprocess_window_add(&actor->window, &actor->flow,
                          &(struct window_entry){.key = key_of(actor, what),
                                                 .bytes = LAB_BATCH_BYTES + 8 * made->samples,
                                                 .ids = copy->ids,
                                                 .id_count = copy->samples,
                                                 .payload = copy});
}

static void make(struct worker_actor *actor, const struct worker_make *what)
{
    const struct lab *lab = actor->lab;
    struct worker_lease *lease = preprocess_flow_lease(&actor->flow, what->fence);
    const uint32_t *states = actor->located[lease - actor->flow.leases].states;
    struct preprocess_range group = preprocess_group(&lab->plan.geometry, lease->group);
    struct preprocess_range positions =
        preprocess_slice(&lab->plan.geometry, what->batch, lease->rank);
    for (uint64_t b = group.first; b < what->batch; b++)
        states += preprocess_slice(&lab->plan.geometry, b, lease->rank).count;
    struct finished *made = weir_calloc(1, sizeof(*made));
    int64_t cost_ms = 0;
    for (uint32_t i = 0; i < positions.count; i++) {
        uint32_t epoch = preprocess_epoch_of(&lab->plan.geometry, what->batch);
        uint64_t id = lab_id_at(&lab->plan, epoch, positions.first + i);
        cost_ms += lab_cost_ms(&lab->plan, id);
        if (states[i] == WEIR_SAMPLE_LIVE && !preprocess_flow_is_erased(&actor->flow, id)) {
            made->ids[made->samples++] = id;
        } else {
            made->hole_states[made->holes] = WEIR_SAMPLE_ERASED;
            made->hole_ids[made->holes++] = id;
        }
    }
    actor->lab->made++;
    if (lab->plan.jobs > 1)
        give(actor, what, made);
    (void)finish(actor, what, made);
    world_freeze(lab->world, actor->number, cost_ms); /* nothing is sent before it is over */
}

static void send_batch(struct worker_actor *actor, const struct worker_send *send, int64_t now)
{
    const struct worker_ready ready = actor->flow.ready[send->ready];
    const struct worker_consumer *consumer = &actor->flow.consumers[send->consumer];
    const struct worker_lease *lease = preprocess_flow_lease(&actor->flow, ready.fence);
    const struct finished *made = ready.payload;
    for (size_t i = 0; i < made->samples; i++)
        lab_check(actor->lab, !preprocess_flow_is_erased(&actor->flow, made->ids[i]),
                  "a worker sends an erased sample");
    struct msg_batch message = {.job = consumer->job,
                                .attempt = consumer->attempt,
                                .session = consumer->session,
                                .worker_session = actor->flow.session,
                                .batch = ready.batch,
                                .group = lease->group,
                                .fence = ready.fence,
                                .erasure_epoch = send->erasure_epoch,
                                .samples = (uint32_t)made->samples,
                                .hole_states = {made->hole_states, made->holes},
                                .bytes = ready.bytes,
                                .sent = send->sent};
    WEIR_AUTO_BUF payload = {0};
    weir_buf_append(&payload, made->ids, made->samples * sizeof(uint64_t));
    weir_buf_append(&payload, made->hole_ids, made->holes * sizeof(uint64_t));
    world_send(actor->lab->world, actor->number, actor->route[send->consumer], MSG_batch, &message,
               weir_buf_view(&payload));
    preprocess_flow_sent(&actor->flow, send, now);
    free(ready.payload);
    /* Credit that was given before a window became smaller is not taken back: see flow.h. */
    uint64_t largest = actor->lab->plan.window_changes ? consumer->taken + LAB_WINDOW_MAX : 0;
    uint64_t may = consumer->granted > largest ? consumer->granted : largest;
    lab_check(actor->lab, consumer->sent <= may + 2ULL * (LAB_BATCH_BYTES + 8 * LAB_SAMPLES_MAX),
              "sent %llu of %llu granted, %llu taken", (unsigned long long)consumer->sent,
              (unsigned long long)consumer->granted, (unsigned long long)consumer->taken);
}

static void send_batches(struct worker_actor *actor, int64_t now)
{
    struct worker_send send;
    while (preprocess_flow_next_send(&actor->flow, now, &send))
        send_batch(actor, &send, now);
}

static int64_t tick(void *self)
{
    struct worker_actor *actor = self;
    int64_t now = world_clock(actor->lab->world, actor->number);
    preprocess_flow_expire(&actor->flow, now);
    struct worker_make what;
    send_batches(actor, now);
    bool has_work = preprocess_flow_next_make(&actor->flow, &what);
    while (has_work && take(actor, &what))
        has_work = preprocess_flow_next_make(&actor->flow, &what);
    if (has_work)
        make(actor, &what);
    bool is_making = world_is_frozen(actor->lab->world, actor->number);
    if (!is_making)
        send_batches(actor, now);
    if (may_ask(&actor->beat, now,
                preprocess_flow_want(&actor->flow) > 0 && now + BEAT_MS - 50 > actor->beat.due_ms))
        beat(actor, now);
    if (may_ask(&actor->hold, now, preprocess_flow_is_behind(&actor->flow)))
        hold(actor, now);
    if (now >= actor->locate_due_ms)
        locate(actor, now);
    free_discarded(actor);
    return is_making ? 1 : 1 + (int64_t)weir_rng_below(world_rng(actor->lab->world), 20);
}

/* True when this is the answer to the newest request. */
static bool answers(struct asking *asking, struct weir_bytes payload)
{
    if (asking->sent_ms == 0 || lab_stamped(payload) != asking->sent_ms)
        return false;
    asking->sent_ms = 0;
    return true;
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    struct worker_actor *actor = self;
    int64_t asked_ms = payload.size == sizeof(int64_t) ? lab_stamped(payload) : 0;
    if (type == MSG_worker_orders && answers(&actor->beat, payload)) {
        preprocess_flow_orders(&actor->flow, message, asked_ms);
        actor->locate_due_ms = 0;
    } else if (type == MSG_hold_is && answers(&actor->hold, payload)) {
        preprocess_flow_held(&actor->flow, message, asked_ms);
        if (actor->flow.hold_pause_ms > HOLD_MS)
            actor->hold.due_ms = asked_ms + actor->flow.hold_pause_ms;
        preprocess_window_drop_erased(&actor->window, &actor->flow);
        preprocess_window_sweep(&actor->window, is_needed, actor);
    } else if (type == MSG_located) {
        on_located(actor, message, payload);
    } else if (type == MSG_erased) {
        preprocess_flow_hint(&actor->flow, ((const struct msg_erased *)message)->epoch);
    } else if (type == MSG_credit) {
        int consumer = preprocess_flow_credit(&actor->flow, message, 0,
                                              world_clock(actor->lab->world, actor->number));
        if (consumer >= 0)
            actor->route[consumer] = from;
    }
    free_discarded(actor);
}

void *lab_add_worker(struct lab *lab, size_t index)
{
    struct worker_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    actor->number = lab_first_worker(&lab->plan) + index;
    lab_add(lab, actor->number,
            &(struct world_actor){.name = "worker",
                                  .self = actor,
                                  .start = start,
                                  .stop = stop,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
