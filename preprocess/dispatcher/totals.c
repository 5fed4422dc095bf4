/* Totals of batches over all ranks: see totals.h. */
#include "preprocess/dispatcher/totals.h"

#include <string.h>

static double double_of(uint64_t bits)
{
    double value = 0.0;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

bool preprocess_slices_are_sensible(const struct msg_client_beat *beat, uint64_t batches)
{
    size_t count = beat->announced_samples.count;

    return count <= WEIR_ANNOUNCED_MAX && beat->announced_weights.count == count &&
           beat->announced <= batches && count <= batches - beat->announced;
}

void preprocess_slices_take(struct dispatcher_slices *slices, const struct msg_client_beat *beat)
{
    size_t count = beat->announced_samples.count;

    if (count == 0)
        return;
    if (slices->end == 0)
        slices->first = beat->announced;
    for (size_t i = 0; i < count; i++) {
        size_t at = (beat->announced + i) % WEIR_ANNOUNCED_MAX;
        slices->samples[at] = beat->announced_samples.at[i];
        slices->weights[at] = double_of(beat->announced_weights.at[i]);
    }
    slices->end = beat->announced + count;
}

static void add_up(const struct dispatcher_slices *const slices[], uint32_t ranks, uint64_t batch,
                   uint64_t *ret_samples, uint64_t *ret_weight)
{
    size_t at = batch % WEIR_ANNOUNCED_MAX;
    double weight = 0.0;

    *ret_samples = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        bool is_announced = batch >= slices[i]->first;
        *ret_samples += is_announced ? slices[i]->samples[at] : 0;
        weight += is_announced ? slices[i]->weights[at] : 0.0;
    }
    memcpy(ret_weight, &weight, sizeof(weight));
}

struct dispatcher_totals preprocess_totals(const struct dispatcher_slices *const slices[],
                                           uint32_t ranks)
{
    uint64_t end = UINT64_MAX;
    struct dispatcher_totals totals = {0};

    for (uint32_t i = 0; i < ranks; i++)
        end = slices[i]->end < end ? slices[i]->end : end;
    totals.first = end > WEIR_TOTALS_MAX ? end - WEIR_TOTALS_MAX : 0;
    totals.count = end - totals.first;
    for (size_t i = 0; i < totals.count; i++)
        add_up(slices, ranks, totals.first + i, &totals.samples[i], &totals.weights[i]);
    return totals;
}

void preprocess_totals_show(const struct dispatcher_totals *totals,
                            struct msg_client_orders *orders)
{
    orders->totals = totals->first;
    orders->total_samples = (struct weir_u64s){totals->samples, totals->count};
    orders->total_weights = (struct weir_u64s){totals->weights, totals->count};
}
