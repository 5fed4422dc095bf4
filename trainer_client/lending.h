/* Memory that a client lends to workers of its host, so that batches are written where the loop reads them
 * instead of through a socket (core/rpc/segment.h). Credit (C9) stays what it was: this only says where the
 * bytes go. No thread, socket or clock of its own.
 * Owned by: struct weir_client, under its mutex.
 *
 * Rules
 *   1. Nothing is lent before a batch of WEIR_LENT_BATCH_BYTES_MIN has come in frames. The largest that came, or
 *      is expected, is what a slot has room for: a larger one later makes slots larger, and loans of smaller ones
 *      that nobody has claimed are withdrawn. Each that came in frames is reason for one slot: to take memory
 *      costs as much as to copy what is written there, and the first batch is not to wait for it.
 *   2. A slot is idle, lent to one worker, or held by one batch. All slots but one have at most the
 *      client's window together, and LENDING_SLOTS_MAX is their number.
 *   3. Every credit names all loans of its worker, so it may be lost. A worker claims a loan, writes one
 *      batch and names the loan with it; whoever has none left sends frames. No worker is lent more than its
 *      part of the slots: where batches are large there are few, and frames cost two copies more.
 *      Nor more than it will need soon, for the memory is taken at once.
 *   4. Each time a slot is lent again it is under another ticket. So a lease that is void, a worker that is
 *      slow, or a message that comes late can neither write to what was lent again nor be taken for it: what
 *      names an old loan is as if it had been lost.
 *   5. A loan that nobody claimed for LENDING_MS is withdrawn, for another worker may need it. One that
 *      was claimed and brought nothing for LENDING_LOST_MS (its batch was lost), and those of a worker
 *      that left, are over.
 *   6. The bytes in a slot belong to a batch until that is released or discarded. */
#ifndef WEIR_TRAINER_CLIENT_LENDING_H
#define WEIR_TRAINER_CLIENT_LENDING_H

#include "core/rpc/segment.h"
#include "core/wire/delivery.h"

enum {
    LENDING_SLOTS_MAX = 64,
    LENDING_MS = 5000,
    LENDING_LOST_MS = 20000,
};

enum lending_state { LENDING_IDLE, LENDING_LENT, LENDING_HELD };

struct lending_slot {
    struct weir_segment *segment; /* NULL: never lent */
    size_t size;                  /* of the segment */
    enum lending_state state;
    uint32_t worker; /* borrower */
    int64_t lent_ms;
    uint8_t loan[WEIR_LOAN_BYTES]; /* newest */
};

/* Zeroed, with the window set, is a client that has lent nothing. */
struct lending {
    size_t window_bytes;
    size_t workers; /* sharing the slots; 0 is 1 */
    size_t size;    /* a slot's; 0: nothing is lent */
    size_t missed;  /* batches that came in frames, for want of a slot */
    struct lending_slot slots[LENDING_SLOTS_MAX];
    uint8_t named[WEIR_BATCH_LOANS_MAX * WEIR_LOAN_BYTES];
};

void trainer_lending_fini(struct lending *lending);
/* Changes the window: the memory of slots that it no longer has room for is given back as they become idle. */
void trainer_lending_resize(struct lending *lending, size_t window_bytes);
/* A batch of so many bytes will come. */
void trainer_lending_saw(struct lending *lending, size_t bytes);
/* One came in frames. */
void trainer_lending_missed(struct lending *lending, size_t bytes);
/* The worker has few loans left, and there are more. */
bool trainer_lending_due(const struct lending *lending, uint32_t worker);
/* All loans of the worker end to end, for its next credit; borrowed until the next call. */
struct weir_bytes trainer_lending_to(struct lending *lending, uint32_t worker, int64_t now_ms);
/* The batch that was written under `loan` by this worker: from now on it holds the slot, and `ret_bytes` are
 * the `size` bytes of it. -1 when that loan is over, or they were not written. */
int trainer_lending_take(struct lending *lending, uint32_t worker, struct weir_bytes loan,
                         size_t size, struct weir_bytes *ret_bytes);
/* Takes back the memory of a batch that is done with. */
void trainer_lending_give_back(struct lending *lending, int slot);
void trainer_lending_leave(struct lending *lending, uint32_t worker);

#endif
