/* Use leases: who may still use an erased sample. Pure (docs/contracts.md): holders of samples, their leases, the
 * erasure epoch, and when an epoch is in force. No clock, socket, file or log: time comes in as `now_ms` (monotonic),
 * effects go out as values; tests/simulation drives it as well.
 *
 * The rules it keeps:
 *  1. Ids are erased under the epoch that follows the newest one, at most STORAGE_ERASED_MAX per
 *     epoch, after their tombstones are committed. Epochs are consecutive, from 1.
 *  2. A holder that asks (`hold`) learns the epoch and every id erased since the epoch it named,
 *     and may use what it holds for STORAGE_LEASE_MS from when it SENT the request. Here its lease
 *     runs STORAGE_LEASE_KEPT_MS from when it was ANSWERED: later, and by a margin for clocks that
 *     differ in speed.
 *  3. Epoch E is in force when no lease is running whose holder has not named an epoch >= E. After
 *     a restart the leases granted before are unknown: all of them count as running, and as silent,
 *     for STORAGE_LEASE_KEPT_MS.
 *  4. Once in force, an epoch stays so: whoever comes later is answered with that epoch before it
 *     may use anything. */
#ifndef WEIR_STORAGE_USE_LEASES_H
#define WEIR_STORAGE_USE_LEASES_H

#include "core/base/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORAGE_LEASE_MS = 2000,
    STORAGE_LEASE_KEPT_MS = STORAGE_LEASE_MS + STORAGE_LEASE_MS / 10,
    STORAGE_HOLDERS_MAX = 1024, /* with a running lease, at the same time */
    STORAGE_ERASED_MAX = 65536, /* ids per epoch, and per answer */
};

struct use_leases;

/* `now_ms` is when this incarnation of storage started. Fill it with storage_leases_add() from the
 * tombstones. */
struct use_leases *storage_leases_new(int64_t now_ms);
/* There were no samples before `now_ms` of storage_leases_new(): nobody can have a lease from then. */
void storage_leases_none_before(struct use_leases *leases);
void storage_leases_free(struct use_leases *leases);
WEIR_DEFINE_AUTO(use_leases, storage_leases_free)

/* The newest epoch; 0 when nothing was ever erased. */
uint64_t storage_leases_epoch(const struct use_leases *leases);

/* The tombstones of `ids` are committed: begins the next epoch and returns it. count <=
 * STORAGE_ERASED_MAX. The caller then hints the holders that storage_leases_silent() lists. */
uint64_t storage_leases_add(struct use_leases *leases, const uint64_t *ids, size_t count);

/* The answer to `hold`. */
struct use_grant {
    uint64_t epoch;    /* `erased` completes the holder's knowledge up to here; it may be older than
                          the newest */
    uint32_t lease_ms; /* counted by the holder from when it sent the request */
    const uint64_t
        *erased; /* ids erased in (named, epoch], borrowed until the next storage_leases_add() */
    size_t erased_count;
    size_t slot; /* < STORAGE_HOLDERS_MAX; where the caller keeps the holder's route */
};

/* A holder renews its lease and names the epoch up to which it has dropped everything erased. An
 * old request that arrives late does no harm. False, and no lease, when STORAGE_HOLDERS_MAX leases
 * are running. */
bool storage_leases_hold(struct use_leases *leases, uint64_t session, uint64_t epoch,
                         int64_t now_ms, struct use_grant *ret_grant);

/* The holder no longer holds anything. A session that has ended must not be used again. */
void storage_leases_hold_end(struct use_leases *leases, uint64_t session, int64_t now_ms);

struct epoch_force {
    bool in_force;
    size_t answered;     /* holders known before the epoch that have named it, or have ended */
    size_t expired;      /* holders known before the epoch whose lease ran out instead */
    int64_t expected_ms; /* when it will be in force at the latest, if nobody renews: <= now_ms when
                            in force */
};

/* Progress of `epoch`. Call again after each answer and at expected_ms. */
struct epoch_force storage_leases_force(struct use_leases *leases, uint64_t epoch, int64_t now_ms);

/* Fills `slots` (STORAGE_HOLDERS_MAX) with the holders whose lease runs and who have not named the
 * newest epoch; returns how many. */
size_t storage_leases_silent(const struct use_leases *leases, int64_t now_ms, size_t *slots);

#endif
