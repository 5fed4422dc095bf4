/* Totals of batches over all ranks, from the slices that these announce (rule 9 of job.h). Pure. */
#ifndef WEIR_PREPROCESS_DISPATCHER_TOTALS_H
#define WEIR_PREPROCESS_DISPATCHER_TOTALS_H

#include "core/wire/delivery.h"
#include "core/wire/wire.h"

/* Slices that the rank has announced in this attempt, as its beats tell them: batches first … end - 1, each at index
 * `batch % WEIR_ANNOUNCED_MAX`, of which the newest are kept. */
struct dispatcher_slices {
    uint64_t first, end;
    uint64_t samples[WEIR_ANNOUNCED_MAX];
    double weights[WEIR_ANNOUNCED_MAX];
    uint64_t longest[WEIR_ANNOUNCED_MAX];
};

/* Batches first … first + count - 1, each at its index. */
struct dispatcher_totals {
    uint64_t first;
    size_t count;
    uint64_t samples[WEIR_TOTALS_MAX];
    uint64_t weights[WEIR_TOTALS_MAX]; /* the bits of a double */
    uint64_t longest[WEIR_TOTALS_MAX]; /* of all ranks: not added up */
};

/* Takes what a beat announces; preprocess_slices_are_sensible() has accepted it. */
void preprocess_slices_take(struct dispatcher_slices *slices, const struct msg_client_beat *beat);
bool preprocess_slices_are_sensible(const struct msg_client_beat *beat, uint64_t batches);
/* Returns the newest batches that all of the `ranks` ranks have announced. A rank that comes to its attempt with a
 * batch consumed has nothing left of it. */
struct dispatcher_totals preprocess_totals(const struct dispatcher_slices *const slices[],
                                           uint32_t ranks);
/* Shows the totals, which must live as long as the message. */
void preprocess_totals_show(const struct dispatcher_totals *totals,
                            struct msg_client_orders *orders);

#endif
