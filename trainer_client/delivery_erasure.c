/* Erasure epochs and the use lease of the delivery state machine (rules 5 and 6 of delivery.h). */
#include "trainer_client/delivery_state.h"

#include "core/base/number.h"

#include <stdlib.h>
#include <string.h>

static bool id_is_erased(const struct id_list *list, uint64_t id)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->at[low] == id;
}

bool trainer_delivery_holds_erased(const struct delivery *delivery,
                                   const struct delivery_batch *batch)
{
    if (delivery->erased.count == 0)
        return false;
    for (size_t i = 0; i < batch->samples; i++) {
        if (id_is_erased(&delivery->erased, batch->ids[i]))
            return true;
    }
    return false;
}

bool trainer_delivery_hold_due(const struct delivery *delivery, int64_t now_ms)
{
    if (delivery_is_over(delivery))
        return false;
    return !delivery->hold_begun || delivery->hinted > delivery->known ||
           delivery->acknowledged > delivery->named ||
           now_ms - delivery->hold_ms >= DELIVERY_HOLD_MS;
}

void trainer_delivery_hold(struct delivery *delivery, int64_t now_ms, struct msg_hold *ret_hold)
{
    delivery->hold_begun = true;
    delivery->hold_ms = now_ms;
    delivery->named = delivery->acknowledged;
    *ret_hold = (struct msg_hold){.session = delivery->session, .epoch = delivery->acknowledged};
}

static void learn_erased(struct delivery *delivery, struct weir_u64s ids)
{
    struct id_list *list = &delivery->erased;
    if (ids.count == 0)
        return;
    if (list->count + ids.count > list->capacity) {
        list->capacity = (list->count + ids.count) * 2;
        list->at = weir_realloc(list->at, list->capacity, sizeof(*list->at));
    }
    memcpy(list->at + list->count, ids.at, ids.count * sizeof(*ids.at));
    list->count += ids.count;
    qsort(list->at, list->count, sizeof(*list->at), weir_order_u64);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++) {
        if (list->at[i] != list->at[kept - 1])
            list->at[kept++] = list->at[i];
    }
    list->count = kept;
}

static void taint_lingering(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->lingering_count; i++) {
        struct lingering *lingering = &delivery->lingering[i];
        lingering->tainted |= lingering->batch->erasure_epoch < delivery->known &&
                              trainer_delivery_holds_erased(delivery, lingering->batch);
    }
}

static bool is_tainted(const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->lingering_count; i++) {
        if (delivery->lingering[i].tainted)
            return true;
    }
    return false;
}

/* Rule 6 for everything that is here. */
static void apply_epoch(struct delivery *delivery)
{
    taint_lingering(delivery);
    for (uint64_t number = delivery->position.oldest; number < delivery_scan_end(delivery);
         number++) {
        struct slot *slot = delivery_slot(delivery, number);
        struct delivery_batch *batch = slot->batch;
        if (batch == NULL)
            continue;
        if (batch->erasure_epoch < delivery->known &&
            trainer_delivery_holds_erased(delivery, batch)) {
            if (slot->handed || trainer_delivery_is_announced(delivery, number)) {
                slot->tainted = true;
                continue;
            }
            *slot = (struct slot){.again = batch->fence};
            delivery->beat_urgent = true;
            trainer_delivery_take(delivery, batch);
            delivery_discard(delivery, batch);
            continue;
        }
        if (batch->erasure_epoch < delivery->known)
            batch->erasure_epoch = delivery->known;
    }
}

void trainer_delivery_acknowledge(struct delivery *delivery)
{
    if (delivery->acknowledged == delivery->known || is_tainted(delivery))
        return;
    for (uint64_t number = delivery->position.oldest; number < delivery_scan_end(delivery);
         number++) {
        if (delivery_slot(delivery, number)->tainted)
            return;
    }
    delivery->acknowledged = delivery->known;
}

/* Rule 9: the lease may have ended since the last answer, and then no erasure has waited for what was announced. */
static void look_at_announced(struct delivery *delivery)
{
    for (uint64_t number = delivery->position.oldest; number < delivery->totals.end; number++) {
        const struct slot *slot = delivery_slot(delivery, number);
        delivery->regroup |= slot->batch != NULL && !slot->handed && slot->tainted;
    }
}

void trainer_delivery_held(struct delivery *delivery, int64_t sent_ms,
                           const struct msg_hold_is *answer)
{
    if (answer->epoch > delivery->known) {
        learn_erased(delivery, answer->erased);
        delivery->known = answer->epoch;
        apply_epoch(delivery);
        trainer_delivery_acknowledge(delivery);
    } else {
        delivery->hinted = delivery->known; /* wrong or early: back to the usual pace */
    }
    if (delivery->ranks > 1 && sent_ms + DELIVERY_ANSWER_MS > delivery->lease_end_ms)
        look_at_announced(delivery);
    int64_t end_ms = sent_ms + (int64_t)answer->lease_ms;
    if (end_ms > delivery->lease_end_ms)
        delivery->lease_end_ms = end_ms;
}

void trainer_delivery_hint(struct delivery *delivery, uint64_t epoch)
{
    if (epoch > delivery->hinted)
        delivery->hinted = epoch;
}

uint64_t trainer_delivery_erasure_epoch(const struct delivery *delivery)
{
    return delivery->known;
}

uint64_t trainer_delivery_acknowledged(const struct delivery *delivery)
{
    return delivery->acknowledged;
}
