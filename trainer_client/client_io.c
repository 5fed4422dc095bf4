/* The client's I/O thread: one loop with a peer for the dispatcher, storage, the orchestrator and each worker. It turns
 * what the delivery machine asks for into messages, and messages into calls of the machine. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/rpc/keys.h"
#include "core/rpc/published.h"
#include "trainer_client/client_state.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICK_MS = 20,                 /* how late a heartbeat may be */
    CALL_MS = DELIVERY_ANSWER_MS, /* an unanswered heartbeat is given up for a newer one */
    COMMIT_MS = 2000,             /* an unanswered commit is asked again */
    REPORT_MS = 300,              /* between two run_beats */
    FAREWELL_MS = 20,             /* at most, for hold_end to leave the socket */
    COMMIT_AGAIN_MS = 50,         /* a final commit that waits for the other ranks */
};

void trainer_client_free_batch(struct batch *batch)
{
    if (batch->slot >= 0)
        trainer_lending_give_back(&batch->client->lending, batch->slot);
    weir_published_unmap(batch->mapped, batch->mapped_bytes);
    trainer_groups_fini(&batch->groups);
    free(batch);
}

void trainer_client_free_discarded(struct weir_client *client)
{
    struct delivery_batch *lent = NULL;
    while ((lent = trainer_delivery_discarded(client->delivery)) != NULL)
        trainer_client_free_batch(batch_of_lent(lent));
}

static void fail(struct weir_client *client, const struct weir_error *failure)
{
    if (client->failed)
        return;
    client->failed = true;
    client->failure = *failure;
    pthread_cond_broadcast(&client->changed);
}

static void lock(struct weir_client *client)
{
    pthread_mutex_lock(&client->mutex);
}

/* Everything that a handler may have changed is looked at by whoever waits. */
static void unlock(struct weir_client *client)
{
    trainer_client_free_discarded(client);
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

static void step(struct weir_client *client);

static bool is_refused(const struct weir_error *err)
{
    return err != NULL && err->status != WEIR_TIMEOUT && err->status != WEIR_UNAVAILABLE;
}

/* ---- workers ---- */

static size_t padded(uint64_t size)
{
    return (size + WEIR_BATCH_ALIGNMENT - 1) / WEIR_BATCH_ALIGNMENT * WEIR_BATCH_ALIGNMENT;
}

/* Bytes of a loan up to the end of its last frame; false when they are more than anybody lends. */
static bool lent_bytes(struct weir_u64s written, size_t *ret_bytes)
{
    *ret_bytes = 0;
    for (size_t i = 0; i < written.count; i++) {
        if (written.count > WEIR_WIRE_FRAMES_MAX || written.at[i] > WEIR_SEGMENT_BYTES_MAX)
            return false;
        *ret_bytes += padded(written.at[i]);
    }
    return true;
}

/* Lists the frames of a batch that lie in memory, as they would have come beside it; of offsets, copies. */
static void view_frames(const struct msg_batch *message, const uint8_t *at,
                        struct weir_frames *frames)
{
    for (size_t i = 0; i < message->written.count; i++) {
        uint64_t written = message->written.at[i];
        if (trainer_batch_frame_is_offsets(message, i))
            weir_frames_copy(frames, at, written);
        else
            weir_frames_view(frames, at, written);
        at += padded(written);
    }
}

/* The memory in which the tensors of a batch are that did not come beside it. */
struct place {
    int slot;        /* of memory that was lent; -1: none */
    uint8_t *mapped; /* of what its worker has made for several; NULL: nothing */
    size_t bytes;
};

/* Finds the frames of a batch that was written to lent memory, or published. False when that is over: then the batch is
 * as good as lost. */
static bool take_place(struct worker_peer *worker, const struct msg_batch *message,
                       struct weir_frames *frames, struct place *ret_place)
{
    struct weir_client *client = worker->client;
    struct weir_bytes bytes = {0};
    size_t size;
    *ret_place = (struct place){.slot = -1};
    if (message->loan.size == 0 && message->published == 0)
        return true;
    if (frames->count > 0 || !lent_bytes(message->written, &size))
        return false;
    ret_place->bytes = size;
    if (message->published != 0) {
        ret_place->mapped = weir_way_take(worker->way, message->published, size);
        bytes = weir_bytes(ret_place->mapped, size);
    } else {
        lock(client);
        ret_place->slot =
            trainer_lending_take(&client->lending, worker->slot, message->loan, size, &bytes);
        pthread_mutex_unlock(&client->mutex); /* nothing has changed for who waits */
    }
    if (ret_place->slot < 0 && ret_place->mapped == NULL)
        return false;
    view_frames(message, bytes.at, frames);
    return true;
}

static void refuse(struct weir_client *client, const struct place *place)
{
    lock(client);
    client->stats.refused++;
    if (place->slot >= 0)
        trainer_lending_give_back(&client->lending, place->slot);
    weir_published_unmap(place->mapped, place->bytes);
    unlock(client);
}

static void arrive(struct worker_peer *worker, struct batch *batch)
{
    struct weir_client *client = worker->client;
    batch->client = client;
    batch->lent.worker = worker->slot;
    worker->reach.heard_ms = weir_now_ms();
    lock(client);
    client->steps_ns += batch->steps_ns;
    batch->shown.epoch = trainer_delivery_epoch_of(client->delivery, batch->shown.number);
    if (batch->slot < 0 && batch->mapped == NULL)
        trainer_lending_missed(&client->lending, batch->lent.bytes);
    uint64_t bytes = batch->lent.bytes;
    if (trainer_delivery_arrive(client->delivery, &batch->lent) != DELIVERY_ACCEPTED) {
        client->stats.refused++;
        trainer_client_free_batch(batch);
    } else {
        trainer_buffering_arrived(&client->buffering, worker->slot, bytes,
                                  trainer_delivery_credit_left(client->delivery, worker->slot),
                                  weir_now_ns());
    }
    unlock(client);
}

static void on_batch(void *owner, struct weir_request *request)
{
    struct worker_peer *worker = owner;
    const struct msg_batch *message = request->message;
    struct batch *batch = NULL;
    struct weir_error err;
    struct place place;
    if (!take_place(worker, message, request->frames, &place) ||
        trainer_batch_lay_out(message, request->frames, &batch, &err) != WEIR_OK) {
        refuse(worker->client, &place);
        return;
    }
    batch->slot = place.slot;
    batch->mapped = place.mapped;
    batch->mapped_bytes = place.bytes;
    arrive(worker, batch);
    step(worker->client);
}

static const struct weir_rpc_handler FROM_WORKER[] = {
    WEIR_ON(batch, on_batch),
    {MSG_none, NULL},
};

/* The slot of `endpoint`, else a free one, else one that nobody uses now; NULL: all are in
 * use. */
static struct worker_peer *find_slot(struct weir_client *client, const char *endpoint)
{
    struct worker_peer *unused = NULL;
    for (uint32_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        struct worker_peer *worker = &client->workers[i];
        worker->slot = i;
        worker->client = client;
        if (weir_str_equal(worker->endpoint, endpoint))
            return worker;
        if (worker->peer == NULL &&
            (unused == NULL || (unused->endpoint != NULL && worker->endpoint == NULL)))
            unused = worker;
    }
    return unused;
}

static void join(struct weir_client *client, const char *endpoint)
{
    struct worker_peer *worker = find_slot(client, endpoint);
    if (worker == NULL || worker->peer != NULL)
        return;
    if (!weir_str_equal(worker->endpoint, endpoint)) {
        free(worker->endpoint);
        worker->endpoint = weir_strdup(endpoint);
    }
    worker->reach =
        (struct reach){.is_far = weir_keys_are_needed(endpoint), .heard_ms = weir_now_ms()};
    worker->is_barred = client->is_elsewhere && !worker->reach.is_far;
    if (worker->is_barred)
        return; /* the dispatcher hears of it, and leases it nothing for this loop */
    /* Under the pair, if there is one: the worker may be elsewhere. */
    const struct weir_pair *pair = client->has_pair && worker->reach.is_far ? &client->pair : NULL;
    if (weir_rpc_connect_as(client->loop, endpoint, pair, FROM_WORKER, worker, &worker->peer,
                            NULL) == WEIR_OK)
        trainer_delivery_worker_join(client->delivery, worker->slot);
}

static bool is_listed(const char *endpoint, struct weir_strs endpoints)
{
    for (size_t i = 0; i < endpoints.count; i++) {
        if (weir_str_equal(endpoints.at[i], endpoint))
            return true;
    }
    return false;
}

static void close_way(struct worker_peer *worker)
{
    if (worker->way >= 0)
        close(worker->way);
    worker->way = -1;
}

/* Opens the way of its published memory again when it has restarted. */
static void keep_way(struct worker_peer *worker)
{
    if (worker->way >= 0 && weir_way_is_open(worker->way))
        return;
    close_way(worker);
    worker->way = weir_way_open(worker->endpoint, worker->client->session);
}

/* Connects to who is new and leaves who is gone. Under `mutex`. */
static void set_workers(struct weir_client *client, struct weir_strs endpoints)
{
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        struct worker_peer *worker = &client->workers[i];
        worker->is_barred = worker->is_barred && is_listed(worker->endpoint, endpoints);
        if (worker->peer == NULL || is_listed(worker->endpoint, endpoints))
            continue;
        weir_rpc_peer_close(worker->peer);
        worker->peer = NULL;
        close_way(worker);
        trainer_delivery_worker_leave(client->delivery, worker->slot);
        trainer_lending_leave(&client->lending, worker->slot);
        trainer_buffering_leave(&client->buffering, worker->slot);
    }
    for (size_t i = 0; i < endpoints.count && i < DELIVERY_WORKERS_MAX; i++)
        join(client, endpoints.at[i]);
    client->lending.workers = endpoints.count;
}

/* Sizes the window again, by what has been measured. */
static void size_window(struct weir_client *client, int64_t now_ns)
{
    const struct buffering_extent extent = {
        .workers = (uint32_t)client->lending.workers,
        .group_batches = trainer_delivery_ordered_group(client->delivery),
        .in_hand = client->held + 1,
    };
    if (!trainer_buffering_due(&client->buffering, now_ns))
        return;
    trainer_buffering_look(&client->buffering, &extent, now_ns);
    trainer_delivery_resize(client->delivery, client->buffering.bytes);
    trainer_lending_resize(&client->lending, client->buffering.bytes);
}

/* Memory is not taken before the loop has its first batch: it would wait for that, too. */
static void give_credit(struct weir_client *client, int64_t now_ms)
{
    for (uint32_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        struct msg_credit credit;
        if (client->workers[i].peer == NULL ||
            !(trainer_delivery_credit_due(client->delivery, i, now_ms) ||
              (client->first_ns != 0 && trainer_lending_due(&client->lending, i))))
            continue;
        trainer_delivery_credit(client->delivery, i, now_ms, &credit);
        keep_way(&client->workers[i]);
        credit.loans = trainer_lending_to(&client->lending, i, now_ms);
        trainer_buffering_granted(&client->buffering, i,
                                  trainer_delivery_credit_left(client->delivery, i), weir_now_ns());
        weir_rpc_send(client->workers[i].peer, MSG_credit, &credit);
    }
}

/* ---- dispatcher ---- */

static void remember_opened(struct weir_client *client, const struct msg_client_opened *opened)
{
    weir_buf_append(&client->fitted, opened->fitted.at, opened->fitted.size);
    client->info = (struct weir_client_info){
        .run = client->run,
        .attempt = opened->attempt,
        .rank = client->rank,
        .ranks = opened->ranks,
        .samples = opened->samples,
        .epochs = opened->epochs,
        .batches_per_epoch = opened->batches_per_epoch,
        .batch_samples = opened->batch_samples,
        .is_deterministic = opened->deterministic,
        .fitted = client->fitted.at,
        .fitted_size = client->fitted.size,
    };
    client->opened = true;
    trainer_buffering_begin(&client->buffering, trainer_delivery_window(client->delivery),
                            opened->memory);
    trainer_delivery_resize(client->delivery, client->buffering.bytes);
    trainer_lending_resize(&client->lending, client->buffering.bytes);
    trainer_lending_saw(&client->lending, opened->batch_bytes);
    trainer_client_take_pair(client, opened);
    set_workers(client, opened->workers);
}

/* Takes over the answer to an opening. Under `mutex`. */
static void take_opened(struct weir_client *client, const struct msg_client_opened *opened)
{
    struct weir_error failure;
    if (trainer_client_announce(client, opened, &failure) != WEIR_OK ||
        trainer_delivery_opened(client->delivery, opened, &failure) != WEIR_OK)
        fail(client, &failure);
    else if (trainer_delivery_is_open(client->delivery))
        remember_opened(client, opened);
}

static void on_opened(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct call *call = owner;
    struct weir_client *client = call->client;
    struct weir_error failure;
    call->open = false;
    lock(client);
    if (reply == NULL) {
        failure = *err;
        if (err->status == WEIR_TIMEOUT)
            weir_ignore(weir_fail(&failure, WEIR_UNAVAILABLE, /* kept below, not returned */
                                  "the dispatcher at %s does not answer: is the platform running?",
                                  weir_rpc_peer_endpoint(client->dispatcher)));
        fail(client, &failure);
    } else if (!client->opened) {
        take_opened(client, reply->message);
    }
    unlock(client);
    step(client);
}

static void send_open(struct weir_client *client, int64_t now_ms)
{
    struct msg_client_open message;
    struct weir_error failure;
    if (client->open_call.open || !trainer_delivery_open_due(client->delivery, now_ms))
        return;
    if (now_ms >= client->open_end_ms) {
        weir_ignore(weir_fail(&failure, WEIR_UNAVAILABLE, /* kept below, not returned */
                              "run %llu: the other ranks have not come within %lld ms",
                              (unsigned long long)client->run, (long long)client->open_timeout_ms));
        fail(client, &failure);
        return;
    }
    trainer_delivery_open(client->delivery, now_ms, &message);
    message.token = client->token;
    client->open_call = (struct call){.client = client, .open = true, .sent_ms = now_ms};
    weir_rpc_call(client->dispatcher, MSG_client_open, &message, client->open_end_ms - now_ms,
                  on_opened, &client->open_call);
}

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct call *call = owner;
    struct weir_client *client = call->client;
    call->open = false;
    lock(client);
    if (reply != NULL) {
        const struct msg_client_orders *orders = reply->message;
        trainer_delivery_ordered(client->delivery, orders);
        weir_utf8_print(client->stage, sizeof(client->stage), "%s", orders->stage);
        client->buffering.memory = orders->memory;
        if (!orders->superseded && !orders->regroup)
            set_workers(client, orders->workers);
    } else if (is_refused(err)) {
        fail(client, err);
    }
    unlock(client);
    step(client);
}

/* Returns the time that the loop has waited, with the wait that still goes on. */
static int64_t waited_ns(const struct weir_client *client)
{
    int64_t now_ns = weir_now_ns();
    return client->stats.wait_ns + (client->since_ns != 0 ? now_ns - client->since_ns : 0);
}

static void add_window(const struct buffering *buffering, struct msg_client_beat *beat)
{
    beat->window = buffering->bytes;
    beat->window_need = buffering->need;
    beat->window_why = trainer_buffering_name(buffering->why);
    beat->window_batch = (uint64_t)buffering->batch_bytes;
    beat->window_wanted = buffering->rates.wanted;
    beat->window_made = buffering->rates.made;
    beat->window_spread = buffering->rates.variance;
    beat->window_lead_ns = (int64_t)(buffering->rates.lead_s * 1e9);
}

static void send_beat(struct weir_client *client, int64_t now_ms)
{
    struct msg_client_beat beat;
    const char *endpoints[DELIVERY_WORKERS_MAX];
    trainer_delivery_beat(client->delivery, now_ms, &beat);
    beat.unreachable = trainer_client_unreachable(client, now_ms, endpoints);
    beat.wait_ns = waited_ns(client);
    beat.steps_ns = client->steps_ns;
    add_window(&client->buffering, &beat);
    client->beat_call = (struct call){.client = client, .open = true, .sent_ms = now_ms};
    weir_rpc_call(client->dispatcher, MSG_client_beat, &beat, CALL_MS, on_orders,
                  &client->beat_call);
}

static void on_committed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct call *call = owner;
    struct weir_client *client = call->client;
    call->open = false;
    /* STALE: the attempt is over. The next beat says whether the group begins again, or without us. */
    bool is_final = is_refused(err) && err->status != WEIR_STALE;
    const struct msg_client_committed *answer = reply != NULL ? reply->message : NULL;
    lock(client);
    if (is_final)
        client->commit_error = *err;
    client->commit_ms = weir_now_ms() + COMMIT_AGAIN_MS;
    if (reply != NULL || is_final)
        trainer_delivery_committed(client->delivery, call->number, answer);
    unlock(client);
    step(client);
}

static void send_commit(struct weir_client *client, int64_t now_ms)
{
    struct msg_client_commit message;
    uint64_t number = trainer_delivery_commit_open(client->delivery, &message);
    bool is_asked = client->commit_call.number == number &&
                    (client->commit_call.open || now_ms < client->commit_ms);
    if (number == 0 || is_asked)
        return;
    weir_rpc_forget(client->dispatcher, &client->commit_call);
    client->commit_call =
        (struct call){.client = client, .open = true, .sent_ms = now_ms, .number = number};
    weir_rpc_call(client->dispatcher, MSG_client_commit, &message, COMMIT_MS, on_committed,
                  &client->commit_call);
}

/* ---- storage ---- */

static void on_held(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct call *call = owner;
    struct weir_client *client = call->client;
    (void)err; /* the next hold tries again; without an answer the lease runs out by itself */
    call->open = false;
    bool is_late =
        weir_now_ms() - call->sent_ms > DELIVERY_ANSWER_MS; /* this process stood still */
    lock(client);
    if (reply != NULL && !is_late)
        trainer_delivery_held(client->delivery, call->sent_ms, reply->message);
    unlock(client);
    step(client);
}

static void on_erased(void *owner, struct weir_request *request)
{
    struct weir_client *client = owner;
    const struct msg_erased *hint = request->message;
    lock(client);
    trainer_delivery_hint(client->delivery, hint->epoch);
    unlock(client);
    step(client);
}

static const struct weir_rpc_handler FROM_STORAGE[] = {
    WEIR_ON(erased, on_erased),
    {MSG_none, NULL},
};

static void send_hold(struct weir_client *client, int64_t now_ms)
{
    struct msg_hold hold;
    trainer_delivery_hold(client->delivery, now_ms, &hold);
    hold.holder = client->holder;
    client->hold_call = (struct call){.client = client, .open = true, .sent_ms = now_ms};
    weir_rpc_call(client->storage, MSG_hold, &hold, CALL_MS, on_held, &client->hold_call);
}

/* ---- orchestrator ---- */

static void on_run_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct call *call = owner;
    struct weir_client *client = call->client;
    (void)err; /* progress is for people: nobody waits for it */
    call->open = false;
    if (reply == NULL)
        return;
    lock(client);
    if (((const struct msg_run_orders *)reply->message)->stop)
        client->stop_ordered = true;
    unlock(client);
}

static void send_report(struct weir_client *client, int64_t now_ms)
{
    WEIR_AUTO_BUF metrics = {0};
    trainer_metrics_print(&client->metrics, &metrics);
    struct msg_run_beat beat = {
        .run = client->run,
        .session = client->task != NULL ? client->task->session : client->session,
        .samples = trainer_delivery_position(client->delivery)->tally.delivered,
        .samples_total = client->info.samples * client->info.epochs,
        .loss = trainer_metrics_get(&client->metrics, "loss"),
        .busy_ns = client->stats.busy_ns,
        .wait_ns = client->stats.wait_ns,
        .stage = client->stage,
        .metrics = weir_buf_text(&metrics),
        .rank = client->rank,
    };
    client->report_ms = now_ms;
    client->has_called = false;
    client->report_call = (struct call){.client = client, .open = true, .sent_ms = now_ms};
    weir_rpc_call(client->orchestrator, MSG_run_beat, &beat, CALL_MS, on_run_orders,
                  &client->report_call);
}

/* A loop that hangs says nothing, however lively this thread is: training.patience is about the loop. */
static bool says_something(const struct weir_client *client)
{
    return client->is_waiting || client->has_called || client->is_attended;
}

/* ---- the thread ---- */

static void send_due(struct weir_client *client, int64_t now_ms)
{
    if (!client->hold_call.open && trainer_delivery_hold_due(client->delivery, now_ms))
        send_hold(client, now_ms);
    if (client->failed)
        return;
    if (!client->opened) {
        send_open(client, now_ms);
        return;
    }
    if (!client->beat_call.open && trainer_delivery_beat_due(client->delivery, now_ms))
        send_beat(client, now_ms);
    send_commit(client, now_ms);
    trainer_client_send_done(client);
    size_window(client, weir_now_ns());
    give_credit(client, now_ms);
    trainer_client_seek_workers(client, now_ms);
    if (client->orchestrator != NULL && !client->report_call.open && says_something(client) &&
        now_ms - client->report_ms >= REPORT_MS)
        send_report(client, now_ms);
}

/* A loop that holds an erased sample is told so, and then ends: nothing else makes it let go. */
static void look_at_held(struct weir_client *client, int64_t now_ms)
{
    const struct delivery *delivery = client->delivery;
    bool is_waited_for =
        trainer_delivery_acknowledged(delivery) < trainer_delivery_erasure_epoch(delivery);
    enum held_verdict verdict = trainer_held_look(&client->held_back, is_waited_for, now_ms);

    if (verdict == HELD_FINE)
        return;
    weir_log(
        verdict == HELD_END ? WEIR_LOG_ERROR : WEIR_LOG_WARN,
        "a batch with an erased sample is still in hand, and an erasure waits for it",
        "error=\"it has held a batch with an erased sample for %d s: release batches, keep none "
        "(%s)\"",
        (verdict == HELD_END ? HELD_END_MS : HELD_WARN_MS) / 1000,
        verdict == HELD_END ? "the program is ended, and goes on from its checkpoint"
                            : "the program will be ended");
    if (verdict == HELD_END)
        _exit(1);
}

/* Sends what is due. */
static void step(struct weir_client *client)
{
    lock(client);
    if (client->closing)
        weir_loop_stop(client->loop);
    else
        send_due(client, weir_now_ms());
    if (client->opened && !client->failed)
        look_at_held(client, weir_now_ms());
    pthread_mutex_unlock(&client->mutex);
}

static void on_tick(void *owner)
{
    step(owner);
}

static void on_wake(void *owner)
{
    struct weir_client *client = owner;
    uint64_t count = 0;
    ssize_t got = read(client->wake_fd, &count,
                       sizeof(count)); /* only empties it: step() looks at everything */
    (void)got;
    step(client);
}

static enum weir_status connect_all(struct weir_client *client, struct weir_error *err)
{
    const struct {
        const char *address;
        const struct weir_rpc_handler *handlers;
        struct weir_rpc_peer **ret_peer;
    } services[] = {
        {client->dispatcher_endpoint, NULL, &client->dispatcher},
        {client->storage_endpoint, FROM_STORAGE, &client->storage},
        {client->orchestrator_endpoint, NULL, &client->orchestrator},
    };
    const struct weir_pair *pair = client->is_elsewhere ? &client->pair : NULL;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(services); i++)
        if (services[i].address != NULL)
            status = weir_rpc_connect_as(client->loop, services[i].address, pair,
                                         services[i].handlers, client, services[i].ret_peer, err);
    return status;
}

/* Tells storage that nobody is to wait for us. Lost, it only costs the rest of the lease. */
static void say_farewell(struct weir_client *client)
{
    if (client->storage == NULL)
        return;
    struct msg_hold_end end = {.session = client->session};
    weir_rpc_send(client->storage, MSG_hold_end, &end);
    weir_rpc_peer_linger(client->storage, FAREWELL_MS);
}

static void close_all(struct weir_client *client)
{
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        close_way(&client->workers[i]);
        weir_rpc_peer_close(client->workers[i].peer);
        free(client->workers[i].endpoint);
    }
    weir_rpc_peer_close(client->orchestrator);
    weir_rpc_peer_close(client->storage);
    weir_rpc_peer_close(client->dispatcher);
    weir_loop_free(client->loop);
}

void *trainer_client_io_run(void *owner)
{
    struct weir_client *client = owner;
    struct weir_error err;
    client->loop = weir_loop_new();
    if (connect_all(client, &err) != WEIR_OK) {
        lock(client);
        fail(client, &err);
        unlock(client);
    } else {
        weir_loop_watch_fd(client->loop, client->wake_fd, POLLIN, on_wake, client);
        weir_loop_timer(client->loop, 0, TICK_MS, on_tick, client);
        client->open_end_ms = weir_now_ms() + client->open_timeout_ms;
        weir_loop_run(client->loop);
        say_farewell(client);
    }
    close_all(client);
    return NULL;
}
