/* Totals of batches over all ranks (rule 9 of delivery.h): what this rank announces of its slices, and what all have
 * announced together. */
#include "trainer_client/delivery_state.h"

#include <string.h>

void trainer_delivery_totals_begin(struct delivery *delivery)
{
    uint64_t oldest = delivery->position.oldest;

    delivery->totals =
        (struct totals){.first = oldest, .turn = oldest, .known = oldest, .end = oldest};
}

bool trainer_delivery_is_announced(const struct delivery *delivery, uint64_t number)
{
    return delivery->ranks > 1 && number < delivery->totals.end;
}

bool trainer_delivery_lacks_totals(const struct delivery *delivery)
{
    return delivery->totals.known < delivery->totals.end;
}

/* ---- announcing ---- */

static bool is_consumed(const struct delivery *delivery, uint64_t number)
{
    return weir_position_consumed(&delivery->position, number);
}

/* An answer has room for the newest WEIR_TOTALS_MAX, so that nobody is to be further ahead of what it knows. */
static bool can_announce(const struct delivery *delivery, uint64_t ahead)
{
    uint64_t number = delivery->totals.end;
    if (number >= delivery->totals.turn + ahead || number >= delivery_window_end(delivery) ||
        number >= delivery->totals.known + WEIR_TOTALS_MAX)
        return false;
    return is_consumed(delivery, number) || delivery->slots[number % WEIR_AHEAD_MAX].batch != NULL;
}

bool trainer_delivery_totals_due(const struct delivery *delivery, int64_t now_ms)
{
    if (delivery->ranks == 1 || now_ms >= delivery->lease_end_ms)
        return false;
    return can_announce(delivery, WEIR_TOTALS_MAX / 2) ||
           (trainer_delivery_lacks_totals(delivery) &&
            now_ms - delivery->beat_ms >= DELIVERY_TOTALS_MS);
}

static void announce_next(struct delivery *delivery)
{
    struct totals *totals = &delivery->totals;
    size_t at = totals->end % WEIR_ANNOUNCED_MAX;
    const struct delivery_batch *batch = delivery_slot(delivery, totals->end)->batch;
    bool is_left = !is_consumed(delivery, totals->end);
    double weight = is_left ? batch->weight : 0.0;
    totals->slice[at] = (struct slice_totals){.samples = is_left ? batch->samples : 0,
                                              .longest = is_left ? batch->longest : 0};
    memcpy(&totals->slice[at].weight, &weight, sizeof(weight));
    totals->end++;
}

/* Lists the newest slices, in number order. */
static void list(struct totals *totals, struct msg_client_beat *beat)
{
    uint64_t kept = totals->end - totals->first;
    size_t count = kept < WEIR_ANNOUNCED_MAX ? kept : WEIR_ANNOUNCED_MAX;
    beat->announced = totals->end - count;
    for (size_t i = 0; i < count; i++) {
        const struct slice_totals *slice =
            &totals->slice[(beat->announced + i) % WEIR_ANNOUNCED_MAX];
        totals->listed[0][i] = slice->samples;
        totals->listed[1][i] = slice->weight;
        totals->listed[2][i] = slice->longest;
    }
    beat->announced_samples = (struct weir_u64s){totals->listed[0], count};
    beat->announced_weights = (struct weir_u64s){totals->listed[1], count};
    beat->announced_longest = (struct weir_u64s){totals->listed[2], count};
}

void trainer_delivery_announce(struct delivery *delivery, int64_t now_ms,
                               struct msg_client_beat *beat)
{
    if (delivery->ranks == 1)
        return;
    /* Without a use lease an erasure may be in force that nobody here has heard of. */
    while (now_ms < delivery->lease_end_ms && can_announce(delivery, WEIR_TOTALS_MAX))
        announce_next(delivery);
    list(&delivery->totals, beat);
}

/* ---- what all have announced ---- */

void trainer_delivery_take_totals(struct delivery *delivery, const struct msg_client_orders *orders)
{
    struct totals *totals = &delivery->totals;
    size_t count = orders->total_samples.count;
    if (count > WEIR_TOTALS_MAX || orders->total_weights.count != count ||
        orders->total_longest.count != count)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = orders->totals + i;
        if (number != totals->known || number >= totals->end)
            continue;
        totals->total[number % WEIR_ANNOUNCED_MAX] =
            (struct slice_totals){.samples = orders->total_samples.at[i],
                                  .weight = orders->total_weights.at[i],
                                  .longest = orders->total_longest.at[i]};
        totals->known++;
    }
}

bool trainer_delivery_fill_totals(const struct delivery *delivery, struct delivery_batch *batch)
{
    const struct totals *totals = &delivery->totals;
    const struct slice_totals *total = &totals->total[batch->number % WEIR_ANNOUNCED_MAX];
    batch->total_samples = batch->samples;
    batch->total_weight = batch->weight;
    batch->total_longest = batch->longest;
    if (delivery->ranks == 1)
        return true;
    if (batch->number >= totals->known)
        return false;
    batch->total_samples = total->samples;
    memcpy(&batch->total_weight, &total->weight, sizeof(batch->total_weight));
    batch->total_longest = total->longest;
    return true;
}

void trainer_delivery_pass_turn(struct delivery *delivery, uint64_t number)
{
    uint64_t turn = number + 1;
    while (turn < delivery_window_end(delivery) && is_consumed(delivery, turn))
        turn++;
    delivery->totals.turn = turn;
}
