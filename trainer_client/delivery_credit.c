/* Credit of the delivery state machine (rule 4 of delivery.h): bytes sent, arrived, lost and done
 * with, per worker session. */
#include "trainer_client/delivery_state.h"

void trainer_delivery_worker_join(struct delivery *delivery, uint32_t worker)
{
    weir_require(worker < DELIVERY_WORKERS_MAX);
    if (delivery->workers[worker].present)
        return;
    delivery->workers[worker].present =
        true; /* counters stay: it may be the same session, reached again */
    delivery->workers[worker].credit_ms = INT64_MIN;
    delivery->worker_count++;
}

void trainer_delivery_worker_leave(struct delivery *delivery, uint32_t worker)
{
    weir_require(worker < DELIVERY_WORKERS_MAX);
    if (!delivery->workers[worker].present)
        return;
    delivery->workers[worker].present = false;
    delivery->worker_count--;
}

static bool is_retired(const struct worker *worker, uint64_t session)
{
    size_t kept = worker->retired_count < RETIRED_MAX ? worker->retired_count : RETIRED_MAX;
    for (size_t i = 0; i < kept; i++) {
        if (worker->retired[i] == session)
            return true;
    }
    return false;
}

void trainer_delivery_account(struct delivery *delivery, struct delivery_batch *batch)
{
    batch->charge = 0;
    if (batch->worker >= DELIVERY_WORKERS_MAX || !delivery->workers[batch->worker].present)
        return;
    struct worker *worker = &delivery->workers[batch->worker];
    if (worker->session != batch->worker_session) {
        if (is_retired(worker, batch->worker_session))
            return;
        if (worker->session != 0) { /* else it goes on with what it was granted unseen */
            worker->retired[worker->retired_count++ % RETIRED_MAX] = worker->session;
            worker->granted = worker->granted_sent = 0;
        }
        worker->session = batch->worker_session;
        worker->through = worker->taken = 0;
        worker->credit_ms = INT64_MIN;
    }
    if (batch->sent <
        worker->through) /* out of order or a second copy: counted as lost, or arrived, before */
        return;
    worker->taken += batch->sent - worker->through;
    worker->through = batch->sent + batch->bytes;
    batch->charge = batch->bytes;
}

void trainer_delivery_take(struct delivery *delivery, struct delivery_batch *batch)
{
    if (batch->charge == 0)
        return;
    struct worker *worker = &delivery->workers[batch->worker];
    if (worker->session == batch->worker_session)
        worker->taken += batch->charge;
    batch->charge = 0;
}

static uint64_t share(const struct delivery *delivery)
{
    uint64_t part =
        delivery->window_bytes / (delivery->worker_count > 0 ? delivery->worker_count : 1);
    return part > 0 ? part : 1;
}

static uint64_t outstanding(const struct worker *worker)
{
    return worker->granted > worker->taken ? worker->granted - worker->taken : 0;
}

/* Bytes that a worker may be granted. Credit that others got when fewer shared the window is not taken back: until they
 * have used it, this one has the rest (rule 4). */
static uint64_t may_grant(const struct delivery *delivery, const struct worker *worker)
{
    uint64_t left = delivery->is_window_given ? delivery->window_bytes : 2 * delivery->window_bytes;
    for (const struct worker *other = delivery->workers;
         left > 0 && other < delivery->workers + DELIVERY_WORKERS_MAX; other++) {
        if (other != worker && other->present)
            left -= outstanding(other) < left ? outstanding(other) : left;
    }
    if (!delivery->is_window_given && left < DELIVERY_SHARE_ALWAYS)
        left = DELIVERY_SHARE_ALWAYS;
    uint64_t part = share(delivery) < left ? share(delivery) : left;
    return worker->taken + part > worker->granted ? worker->taken + part : worker->granted;
}

uint64_t trainer_delivery_credit_left(const struct delivery *delivery, uint32_t index)
{
    const struct worker *worker = &delivery->workers[index];
    return worker->granted_sent > worker->through ? worker->granted_sent - worker->through : 0;
}

bool trainer_delivery_credit_due(const struct delivery *delivery, uint32_t index, int64_t now_ms)
{
    const struct worker *worker = &delivery->workers[index];
    if (!delivery->open || delivery_is_over(delivery) || !worker->present)
        return false;
    if (worker->credit_ms == INT64_MIN || now_ms - worker->credit_ms >= DELIVERY_CREDIT_MS)
        return true;
    uint64_t enough = worker->granted_sent + share(delivery) / 4;
    return worker->taken + share(delivery) > enough && may_grant(delivery, worker) > enough;
}

static uint64_t first_missing(struct delivery *delivery)
{
    uint64_t number = delivery->position.oldest;
    while (number < delivery_window_end(delivery) &&
           (delivery_has(delivery_slot(delivery, number)) ||
            weir_position_consumed(&delivery->position, number)))
        number++;
    return number;
}

/* Nothing waits that the loop could take before `missing`. */
static bool is_starving(struct delivery *delivery, uint64_t missing)
{
    uint64_t end = delivery->deterministic ? missing : delivery->ceiling;
    for (uint64_t number = delivery->position.oldest; number < end; number++) {
        const struct slot *slot = delivery_slot(delivery, number);
        if (slot->batch != NULL && !slot->handed)
            return false;
    }
    return true;
}

void trainer_delivery_credit(struct delivery *delivery, uint32_t index, int64_t now_ms,
                             struct msg_credit *ret_credit)
{
    struct worker *worker = &delivery->workers[index];
    worker->granted = may_grant(delivery, worker);
    worker->granted_sent = worker->granted;
    worker->credit_ms = now_ms;
    uint64_t missing = first_missing(delivery);
    *ret_credit = (struct msg_credit){
        .job = delivery->job,
        .attempt = delivery->attempt,
        .session = delivery->session,
        .granted = worker->granted,
        .taken = worker->taken,
        .worker_session = worker->session,
        .missing = missing,
        .starving = is_starving(delivery, missing),
    };
}
