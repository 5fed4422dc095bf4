/* Slots of memory, to workers and back: see lending.h. */
#include "trainer_client/lending.h"

#include <string.h>

enum { GRAIN = 64 << 10, AHEAD = 1, AHEAD_BYTES = 32 << 20 /* of a worker */ };

void trainer_lending_fini(struct lending *lending)
{
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++)
        weir_segment_free(lending->slots[i].segment);
    *lending = (struct lending){.window_bytes = lending->window_bytes, .workers = lending->workers};
}

/* Loans that are too small would stay with their workers, unclaimed, until they are over. */
static void withdraw_small(struct lending *lending)
{
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++) {
        struct lending_slot *slot = &lending->slots[i];
        if (slot->state == LENDING_LENT && slot->size < lending->size &&
            weir_segment_withdraw(slot->segment))
            slot->state = LENDING_IDLE;
    }
}

/* Batches of one job differ a little: an eighth more than the largest yet. */
void trainer_lending_saw(struct lending *lending, size_t bytes)
{
    size_t wanted = (bytes + bytes / 8 + GRAIN - 1) / GRAIN * GRAIN;
    if (bytes < WEIR_LENT_BATCH_BYTES_MIN || wanted <= lending->size ||
        wanted > WEIR_SEGMENT_BYTES_MAX)
        return;
    lending->size = wanted;
    withdraw_small(lending);
}

void trainer_lending_missed(struct lending *lending, size_t bytes)
{
    trainer_lending_saw(lending, bytes);
    lending->missed += bytes >= WEIR_LENT_BATCH_BYTES_MIN;
}

/* Bytes of all slots. */
static size_t taken_by(const struct lending *lending)
{
    size_t taken = 0;
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++)
        taken += lending->slots[i].segment != NULL ? lending->slots[i].size : 0;
    return taken;
}

/* True when one more slot may be taken. */
static bool has_room(const struct lending *lending)
{
    return lending->missed > 0 && lending->size > 0 && taken_by(lending) < lending->window_bytes;
}

void trainer_lending_resize(struct lending *lending, size_t window_bytes)
{
    size_t taken = taken_by(lending);
    lending->window_bytes = window_bytes;
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++) {
        struct lending_slot *slot = &lending->slots[i];
        if (slot->segment == NULL || slot->state != LENDING_IDLE ||
            taken - slot->size < window_bytes)
            continue;
        taken -= slot->size;
        weir_segment_free(slot->segment);
        slot->segment = NULL;
    }
}

static bool make_slot(struct lending *lending, struct lending_slot *slot)
{
    weir_segment_free(slot->segment);
    slot->segment = NULL;
    if (!has_room(lending))
        return false;
    slot->segment = weir_segment_new(lending->size);
    slot->size = lending->size;
    lending->missed--;
    return true;
}

static bool lend(struct lending *lending, struct lending_slot *slot, uint32_t worker,
                 int64_t now_ms)
{
    if ((slot->segment == NULL || slot->size < lending->size) && !make_slot(lending, slot))
        return false;
    struct weir_bytes loan = weir_segment_lend(slot->segment);
    if (loan.size == 0)
        return false;
    memcpy(slot->loan, loan.at, loan.size);
    slot->state = LENDING_LENT;
    slot->worker = worker;
    slot->lent_ms = now_ms;
    return true;
}

static bool is_over(const struct lending_slot *slot, int64_t now_ms)
{
    int64_t age_ms = now_ms - slot->lent_ms;
    return slot->state == LENDING_LENT && age_ms >= LENDING_MS &&
           (weir_segment_withdraw(slot->segment) || age_ms >= LENDING_LOST_MS);
}

static void expire(struct lending *lending, int64_t now_ms)
{
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++) {
        if (is_over(&lending->slots[i], now_ms))
            lending->slots[i].state = LENDING_IDLE;
    }
}

/* Loans of one worker, at most: of the slots that the window has room for, as many as of any other, and no memory
 * that it will not need soon. */
static size_t share(const struct lending *lending)
{
    if (lending->size == 0)
        return 0;
    size_t workers = lending->workers > 0 ? lending->workers : 1;
    size_t slots = lending->window_bytes / lending->size + 1;
    size_t part = (slots + workers - 1) / workers;
    size_t soon = AHEAD + AHEAD_BYTES / lending->size;
    size_t most = soon < WEIR_BATCH_LOANS_MAX ? soon : WEIR_BATCH_LOANS_MAX;
    return part < most ? part : most;
}

bool trainer_lending_due(const struct lending *lending, uint32_t worker)
{
    size_t idle = 0, its = 0;
    bool is_room = has_room(lending);
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++) {
        const struct lending_slot *slot = &lending->slots[i];
        idle += slot->state == LENDING_IDLE && (slot->segment != NULL || is_room);
        its += slot->state == LENDING_LENT && slot->worker == worker;
    }
    return its <= WEIR_BATCH_LOANS_MAX / 2 && its < share(lending) && idle > its;
}

/* Adds the loans of the worker, or with `is_new` slots that are idle, to those that are named. */
static size_t name_loans(struct lending *lending, uint32_t worker, bool is_new, int64_t now_ms,
                         size_t size)
{
    size_t end = is_new ? share(lending) * WEIR_LOAN_BYTES : sizeof(lending->named);
    for (size_t i = 0; i < LENDING_SLOTS_MAX && size < end; i++) {
        struct lending_slot *slot = &lending->slots[i];
        bool is_its = slot->state == LENDING_LENT && slot->worker == worker;
        bool is_named =
            is_new ? slot->state == LENDING_IDLE && lend(lending, slot, worker, now_ms) : is_its;
        if (!is_named)
            continue;
        memcpy(lending->named + size, slot->loan, WEIR_LOAN_BYTES);
        size += WEIR_LOAN_BYTES;
    }
    return size;
}

struct weir_bytes trainer_lending_to(struct lending *lending, uint32_t worker, int64_t now_ms)
{
    expire(lending, now_ms);
    size_t size = name_loans(lending, worker, false, now_ms, 0);
    size = name_loans(lending, worker, true, now_ms, size);
    return weir_bytes(lending->named, size);
}

int trainer_lending_take(struct lending *lending, uint32_t worker, struct weir_bytes loan,
                         size_t size, struct weir_bytes *ret_bytes)
{
    for (int i = 0; i < LENDING_SLOTS_MAX; i++) {
        struct lending_slot *slot = &lending->slots[i];
        if (slot->state != LENDING_LENT || slot->worker != worker ||
            !weir_bytes_equal(loan, weir_bytes(slot->loan, sizeof(slot->loan))))
            continue;
        *ret_bytes = weir_segment_written(slot->segment, size);
        if (ret_bytes->at == NULL)
            return -1;
        slot->state = LENDING_HELD;
        return i;
    }
    return -1;
}

void trainer_lending_give_back(struct lending *lending, int slot)
{
    lending->slots[slot].state = LENDING_IDLE;
}

void trainer_lending_leave(struct lending *lending, uint32_t worker)
{
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++) {
        struct lending_slot *slot = &lending->slots[i];
        if (slot->state == LENDING_LENT && slot->worker == worker)
            slot->state = LENDING_IDLE;
    }
}
