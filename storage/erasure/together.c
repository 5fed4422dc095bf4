/* Which erasures are worked on together, and from when on. */
#include "storage/erasure/open_erasure.h"

enum {
    LANES = 4, /* open erasures whose bytes are worked on in turns: none waits for a large one */
    GATHER_QUIET_MS = 100, /* without another request, at most: */
    GATHER_MAX_MS = 1000,
};

void storage_erasing_remove(struct erasing *erasing, const struct open_erasure *erasure)
{
    size_t kept = 0;

    for (size_t i = 0; i < erasing->count; i++) {
        if (erasing->at[i] != erasure)
            erasing->at[kept++] = erasing->at[i];
    }
    erasing->count = kept;
}

bool storage_erasing_has_bytes_to_do(const struct open_erasure *erasure)
{
    return erasure->state == ERASURE_IN_FORCE || erasure->state == ERASURE_SCRUBBED;
}

static void take_over(struct erasing *erasing, struct open_erasure *to, struct open_erasure *from)
{
    for (size_t i = 0; i < from->count; i++)
        storage_open_erasure_add(to, from->requests[i]);
    from->count = 0;
    for (size_t i = 0; i < from->epochs.count; i++)
        storage_id_list_add(&to->epochs, from->epochs.at[i]);
    storage_id_list_sort(&to->epochs);
    for (size_t i = 0; i < from->hashes.count; i++)
        storage_id_list_add(&to->hashes, from->hashes.at[i]);
    storage_id_list_sort(&to->hashes);
    to->is_blind = to->is_blind || from->is_blind;
    to->inherited = to->inherited > from->inherited ? to->inherited : from->inherited;
    to->epoch = to->epoch > from->epoch ? to->epoch : from->epoch;
    storage_erasing_remove(erasing, from);
    storage_open_erasure_free(from);
}

static struct open_erasure *next_not_begun(const struct erasing *erasing,
                                           const struct open_erasure *but)
{
    for (size_t i = 0; i < erasing->count; i++) {
        struct open_erasure *erasure = erasing->at[i];

        if (erasure->state == ERASURE_IN_FORCE && !erasure->is_begun && erasure != but)
            return erasure;
    }
    return NULL;
}

/* Others are about to be in force. */
static bool are_coming(const struct erasing *erasing, const struct accepts *accepts)
{
    for (size_t i = 0; i < erasing->count; i++) {
        if (erasing->at[i]->state < ERASURE_IN_FORCE)
            return true;
    }
    return erasing->waiting_at < erasing->waiting_count || storage_accepts_any(accepts);
}

/* Requests that come one upon the other are worked on together: how long the first of them waits for more. */
static int64_t gather_ms(const struct eraser *eraser, const struct open_erasure *first,
                         int64_t now_ms)
{
    const struct erasing *erasing = eraser->erasing;
    int64_t left_ms = first->in_force_ms + GATHER_MAX_MS - now_ms;
    int64_t quiet_ms = erasing->newest_ms + GATHER_QUIET_MS - now_ms;

    return are_coming(erasing, eraser->accepts) || quiet_ms > left_ms ? left_ms : quiet_ms;
}

int64_t storage_erasing_begin_bytes(const struct eraser *eraser, int64_t now_ms)
{
    struct erasing *erasing = eraser->erasing;
    struct open_erasure *first = next_not_begun(erasing, NULL), *next;
    int64_t wait_ms;
    size_t lanes = 0;

    for (size_t i = 0; i < erasing->count; i++)
        lanes += storage_erasing_has_bytes_to_do(erasing->at[i]) && erasing->at[i]->is_begun &&
                 !storage_scrub_waits(erasing->at[i], now_ms) &&
                 !storage_verify_waits(erasing->at[i], now_ms);
    if (!first || lanes >= LANES)
        return 0;
    wait_ms = gather_ms(eraser, first, now_ms);
    if (wait_ms > 0)
        return wait_ms;
    while ((next = next_not_begun(erasing, first)) &&
           first->count + next->count <= ERASE_REQUESTS_MAX)
        take_over(erasing, first, next);
    first->is_begun = true;
    return 0;
}

static bool awaits_search(const struct open_erasure *erasure)
{
    return erasure->state == ERASURE_SCRUBBED && erasure->is_sealed && !erasure->is_counted &&
           erasure->epoch_at == 0 && erasure->failing.pause_ms == 0;
}

static struct open_erasure *next_to_search(const struct erasing *erasing,
                                           const struct open_erasure *but)
{
    for (size_t i = 0; i < erasing->count; i++) {
        if (awaits_search(erasing->at[i]) && erasing->at[i] != but)
            return erasing->at[i];
    }
    return NULL;
}

void storage_erasing_search_together(struct erasing *erasing, struct open_erasure *first)
{
    struct open_erasure *next;

    while (awaits_search(first) && (next = next_to_search(erasing, first)) &&
           first->count + next->count <= ERASE_REQUESTS_MAX)
        take_over(erasing, first, next);
}
