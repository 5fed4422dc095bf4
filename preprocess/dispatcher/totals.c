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
           beat->announced_longest.count == count && beat->announced <= batches &&
           count <= batches - beat->announced;
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
        slices->longest[at] = beat->announced_longest.at[i];
    }
    slices->end = beat->announced + count;
}

/* Of the batch at index `i` of the totals. */
static void add_up(const struct dispatcher_slices *const slices[], uint32_t ranks,
                   struct dispatcher_totals *totals, size_t i)
{
    uint64_t batch = totals->first + i;
    size_t at = batch % WEIR_ANNOUNCED_MAX;
    double weight = 0.0;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (batch < slices[rank]->first)
            continue;
        totals->samples[i] += slices[rank]->samples[at];
        weight += slices[rank]->weights[at];
        if (slices[rank]->longest[at] > totals->longest[i])
            totals->longest[i] = slices[rank]->longest[at];
    }
    memcpy(&totals->weights[i], &weight, sizeof(weight));
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
        add_up(slices, ranks, &totals, i);
    return totals;
}

void preprocess_totals_show(const struct dispatcher_totals *totals,
                            struct msg_client_orders *orders)
{
    orders->totals = totals->first;
    orders->total_samples = (struct weir_u64s){totals->samples, totals->count};
    orders->total_weights = (struct weir_u64s){totals->weights, totals->count};
    orders->total_longest = (struct weir_u64s){totals->longest, totals->count};
}
