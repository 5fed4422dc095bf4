/* The choice of erasures that are worked on together, and its time. */
#include "core/base/clock.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"

enum {
    /* open erasures whose bytes are worked on by rotation: none waits for a large one */
    AT_ONCE_MAX = 4,
    GATHER_QUIET_MS = 100, /* without another request, at most: */
    GATHER_MAX_MS = 1000,
    UNDER_WAY_MAX_MS = 10000, /* for those that are not in force yet: a scan may hold them up */
};

void storage_erasure_remove(struct erasures *erasures, const struct erasure_record *erasure)
{
    size_t kept = 0;

    for (size_t i = 0; i < erasures->count; i++) {
        if (erasures->at[i] != erasure)
            erasures->at[kept++] = erasures->at[i];
    }
    erasures->count = kept;
}

bool storage_erasure_has_bytes_to_do(const struct erasure_record *erasure)
{
    return erasure->state == WEIR_ERASURE_IN_FORCE || erasure->state == WEIR_ERASURE_SCRUBBED;
}

bool storage_erasure_is_any_unscrubbed(const struct erasures *erasures)
{
    int64_t now_ms = weir_now_ms();

    for (size_t i = 0; i < erasures->count; i++) {
        const struct erasure_record *erasure = erasures->at[i];

        if (erasure->state < WEIR_ERASURE_IN_FORCE ||
            (erasure->state == WEIR_ERASURE_IN_FORCE && !storage_scrub_waits(erasure, now_ms)))
            return true;
    }
    return false;
}

static void take_over(struct erasures *erasures, struct erasure_record *to,
                      struct erasure_record *from)
{
    for (size_t i = 0; i < from->count; i++)
        storage_erasure_record_add(to, from->requests[i]);
    from->count = 0;
    for (size_t i = 0; i < from->epochs.count; i++)
        storage_id_list_add(&to->epochs, from->epochs.at[i]);
    storage_id_list_sort(&to->epochs);
    for (size_t i = 0; i < from->hashes.count; i++)
        storage_id_list_add(&to->hashes, from->hashes.at[i]);
    storage_id_list_sort(&to->hashes);
    to->is_blind = to->is_blind || from->is_blind;
    to->inherited = to->inherited > from->inherited ? to->inherited : from->inherited;
    to->erasure_epoch =
        to->erasure_epoch > from->erasure_epoch ? to->erasure_epoch : from->erasure_epoch;
    storage_erasure_remove(erasures, from);
    storage_erasure_record_free(from);
}

static struct erasure_record *next_not_begun(const struct erasures *erasures,
                                             const struct erasure_record *but)
{
    for (size_t i = 0; i < erasures->count; i++) {
        struct erasure_record *erasure = erasures->at[i];

        if (erasure->state == WEIR_ERASURE_IN_FORCE && !erasure->is_begun && erasure != but)
            return erasure;
    }
    return NULL;
}

/* Some that were taken up before the deadline are not in force yet. */
static bool are_under_way(const struct erasures *erasures, int64_t deadline_ms)
{
    for (size_t i = 0; i < erasures->count; i++) {
        const struct erasure_record *erasure = erasures->at[i];

        if (erasure->state < WEIR_ERASURE_IN_FORCE &&
            erasure->requests[0]->taken_up_ms < deadline_ms)
            return true;
    }
    return erasures->waiting_at < erasures->waiting_count &&
           erasures->waiting[erasures->waiting_at]->taken_up_ms < deadline_ms;
}

/* Requests that come one upon the other are worked on together: how long the first of them waits for more. */
static int64_t gather_ms(const struct eraser *eraser, const struct erasure_record *first,
                         int64_t now_ms)
{
    const struct erasures *erasures = eraser->erasures;
    int64_t deadline_ms = first->in_force_ms + GATHER_MAX_MS, left_ms = deadline_ms - now_ms;
    int64_t quiet_ms = erasures->newest_ms + GATHER_QUIET_MS - now_ms;

    if (now_ms < first->in_force_ms + UNDER_WAY_MAX_MS && are_under_way(erasures, deadline_ms))
        return GATHER_QUIET_MS;
    return storage_accepts_any(eraser->accepts) || quiet_ms > left_ms ? left_ms : quiet_ms;
}

int64_t storage_erasure_begin_bytes(const struct eraser *eraser, int64_t now_ms)
{
    struct erasures *erasures = eraser->erasures;
    struct erasure_record *first = next_not_begun(erasures, NULL), *next;
    int64_t wait_ms;
    size_t at_work = 0;

    for (size_t i = 0; i < erasures->count; i++)
        at_work += storage_erasure_has_bytes_to_do(erasures->at[i]) && erasures->at[i]->is_begun &&
                   !storage_scrub_waits(erasures->at[i], now_ms) &&
                   !storage_verify_waits(erasures->at[i], now_ms);
    if (first == NULL || at_work >= AT_ONCE_MAX)
        return 0;
    wait_ms = gather_ms(eraser, first, now_ms);
    if (wait_ms > 0)
        return wait_ms;
    while ((next = next_not_begun(erasures, first)) != NULL &&
           first->count + next->count <= ERASE_REQUESTS_MAX)
        take_over(erasures, first, next);
    first->is_begun = true;
    return 0;
}

static bool awaits_search(const struct erasure_record *erasure)
{
    return erasure->state == WEIR_ERASURE_SCRUBBED && erasure->is_sealed && !erasure->is_counted &&
           erasure->epoch_at == 0 && erasure->failing.pause_ms == 0;
}

static struct erasure_record *next_to_search(const struct erasures *erasures,
                                             const struct erasure_record *but)
{
    for (size_t i = 0; i < erasures->count; i++) {
        if (awaits_search(erasures->at[i]) && erasures->at[i] != but)
            return erasures->at[i];
    }
    return NULL;
}

void storage_erasure_search_together(struct erasures *erasures, struct erasure_record *first)
{
    struct erasure_record *next;

    while (awaits_search(first) && (next = next_to_search(erasures, first)) != NULL &&
           first->count + next->count <= ERASE_REQUESTS_MAX)
        take_over(erasures, first, next);
}
