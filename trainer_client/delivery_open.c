/* Opening of the delivery state machine (rule 8 of delivery.h): a place in the attempt, and where it
 * begins. */
#include "trainer_client/delivery_state.h"

void trainer_delivery_take_part(struct delivery *delivery, uint32_t rank, uint32_t ranks)
{
    delivery->rank = rank;
    delivery->ranks = ranks;
}

bool trainer_delivery_open_due(const struct delivery *delivery, int64_t now_ms)
{
    return !delivery->open && !delivery_is_over(delivery) && now_ms >= delivery->open_ms;
}

void trainer_delivery_open(struct delivery *delivery, int64_t now_ms,
                           struct msg_client_open *ret_open)
{
    weir_buf_clear(&delivery->open_bytes);
    if (delivery->names_state)
        weir_position_pack(&delivery->position, &delivery->open_bytes);
    delivery->open_ms = now_ms + DELIVERY_OPEN_MS;
    *ret_open = (struct msg_client_open){
        .job = delivery->job,
        .session = delivery->session,
        .position = weir_buf_view(&delivery->open_bytes),
        .after = delivery->after,
        .rank = delivery->rank,
        .ranks = delivery->ranks,
        .joined = delivery->joined,
    };
}

/* One past the highest batch the position speaks of. */
static uint64_t position_end(const struct weir_position *position)
{
    uint64_t end = position->oldest;
    for (size_t i = 0; i < position->ahead.count; i++) {
        if (weir_bits_get(&position->ahead, i))
            end = position->oldest + i + 1;
    }
    return end;
}

static enum weir_status check_opened(const struct delivery *delivery,
                                     const struct msg_client_opened *opened, struct weir_error *err)
{
    if (opened->epochs == 0 || opened->delivery > WEIR_AT_MOST_ONCE)
        return weir_fail(err, WEIR_INVALID, "client_opened: impossible epochs or delivery mode");
    if (opened->group_batches == 0 || opened->batches_per_epoch > (UINT64_MAX >> 33))
        return weir_fail(err, WEIR_INVALID, "client_opened: impossible batch numbers");
    uint64_t total = opened->batches_per_epoch * opened->epochs;
    uint64_t end = position_end(&delivery->position);
    if (end > total)
        return weir_fail(err, WEIR_INVALID,
                         "the state to start from speaks of batch %llu, the job has %llu: "
                         "it belongs to another job",
                         (unsigned long long)end, (unsigned long long)total);
    return WEIR_OK;
}

static uint64_t choose_window(uint64_t batch_bytes)
{
    if (batch_bytes > DELIVERY_WINDOW_MAX / DELIVERY_WINDOW_BATCHES)
        return DELIVERY_WINDOW_MAX;
    uint64_t bytes = batch_bytes * DELIVERY_WINDOW_BATCHES;
    return bytes > DELIVERY_WINDOW_MIN ? bytes : DELIVERY_WINDOW_MIN;
}

/* The attempt has begun, for this consumer at `opened->position`. */
static enum weir_status begin(struct delivery *delivery, const struct msg_client_opened *opened,
                              struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (opened->position.size > 0)
        status = weir_position_unpack(opened->position, &delivery->position, err);
    if (status == WEIR_OK)
        status = check_opened(delivery, opened, err);
    if (status != WEIR_OK)
        return status;
    delivery->open = true;
    delivery->attempt = opened->attempt;
    delivery->fence = opened->fence;
    /* A step of several ranks is one batch, cut over them: all take it in number order. */
    delivery->deterministic = opened->deterministic || delivery->ranks > 1;
    delivery->claims = opened->delivery != WEIR_EXACTLY_ONCE;
    delivery->batches_per_epoch = opened->batches_per_epoch;
    delivery->group_batches = opened->group_batches;
    delivery->groups_per_epoch =
        (opened->batches_per_epoch + opened->group_batches - 1) / opened->group_batches;
    delivery->total = opened->batches_per_epoch * opened->epochs;
    trainer_delivery_totals_begin(delivery);
    if (delivery->window_bytes == 0)
        delivery->window_bytes = choose_window(opened->batch_bytes);
    return WEIR_OK;
}

/* Not yet: there is a newer attempt, the others have not come, or the state does not fit theirs. */
static enum weir_status go_on_requesting(struct delivery *delivery,
                                         const struct msg_client_opened *opened,
                                         struct weir_error *err)
{
    if (opened->superseded) {
        delivery->superseded = true;
        return weir_fail(err, WEIR_STALE, "a later process has taken rank %u over: stop",
                         delivery->rank);
    }
    if (opened->reload) {
        delivery->wanted = opened->batches;
        return weir_fail(err, WEIR_RESTART,
                         "the other ranks cannot have this state of %llu batches: open again with "
                         "the state of %llu",
                         (unsigned long long)weir_position_batches(&delivery->position),
                         (unsigned long long)opened->batches);
    }
    if (opened->newest > delivery->after)
        delivery->open_ms = INT64_MIN;
    delivery->after = opened->newest;
    delivery->joined |= opened->joined;
    return WEIR_OK;
}

enum weir_status trainer_delivery_opened(struct delivery *delivery,
                                         const struct msg_client_opened *opened,
                                         struct weir_error *err)
{
    if (delivery->open || delivery_is_over(delivery) || opened->newest < delivery->after)
        return WEIR_OK;
    return opened->attempt != 0 ? begin(delivery, opened, err)
                                : go_on_requesting(delivery, opened, err);
}

bool trainer_delivery_is_open(const struct delivery *delivery)
{
    return delivery->open;
}

uint64_t trainer_delivery_window(const struct delivery *delivery)
{
    return delivery->window_bytes;
}

void trainer_delivery_resize(struct delivery *delivery, uint64_t window_bytes)
{
    delivery->window_bytes = window_bytes;
}

uint64_t trainer_delivery_ordered_group(const struct delivery *delivery)
{
    return delivery->deterministic ? delivery->group_batches : 0;
}

uint64_t trainer_delivery_wanted(const struct delivery *delivery)
{
    return delivery->wanted;
}
