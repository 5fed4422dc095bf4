/* Use leases: who may still use an erased sample. Pure (docs/contracts.md): holders of samples, their leases, the
 * erasure epoch, and when an epoch is in force. No clock, socket, file or log: time comes in as `now_ms` (monotonic),
 * effects go out as values; tests/simulation drives it as well.
 *
 * The rules it keeps:
 *  1. Ids are erased under the epoch that follows the newest one, at most STORAGE_ERASED_MAX per
 *     epoch, after their tombstones are committed. Epochs are consecutive, from 1.
 *  2. A holder that asks (`hold`) learns the epoch and every id erased since the epoch it named,
 *     and may use what it holds for the lease, from when it SENT the request. Here its lease runs a
 *     tenth longer, from when it was ANSWERED: later, and by a margin for clocks that differ in
 *     speed.
 *  3. Epoch E is in force when no lease is running whose holder has not named an epoch >= E. After
 *     a restart the leases granted before are unknown: all of them count as running, and as silent,
 *     for STORAGE_LEASE_KEPT_MAX_MS.
 *  4. Once in force, an epoch stays so: whoever comes later is answered with that epoch before it
 *     may use anything.
 *  5. A request of a holder costs the same for one holder and for thousands: a few list operations.
 *     All holders are looked at once per epoch, and once per report.
 *  6. A session belongs to the key that first asked with it: another one neither renews nor ends it.
 *  7. One key never has all leases of a kind: it begins another one only while it has fewer than are
 *     left for everybody, or, for workers elsewhere, than twice as many. So one key ends with half of
 *     the leases of trainers, and two that want all end with a third each; a pool of 10,000 workers
 *     can have one key.
 *
 * Thousands hold. An erasure is to be in force within 3 s, and a holder that has just died is waited for until its
 * lease is over. So leases hardly grow with the number of holders, and the pause between two requests grows as far as
 * leases allow. A pause is booked with every answer: bookings lie 1 / STORAGE_HOLDS_A_SECOND apart, never less than
 * STORAGE_HOLD_MS ahead and never more than STORAGE_HOLD_MAX_MS. A lease is STORAGE_LEASE_MS, or longer where the
 * answer to the next request would have less than STORAGE_ANSWER_MS. So
 *
 *     up to 3,125 holders ask twice a second and have leases of 2 s, as if each were alone;
 *     N of them ask after N / STORAGE_HOLDS_A_SECOND, evenly spread;
 *     10,000 ask after 1.6 s, 6,250 a second, and have leases of 2.2 s: at 40 us of CPU for a request, its way through
 *     ZeroMQ and its answer, a quarter of a core.
 *
 * In force is a new epoch after commit + max(hints, lost, silence):
 *
 *     hints    all are hinted at STORAGE_HINTS_AT_ONCE in STORAGE_HINT_MS, 25,600 a second, so that no queue of
 *              thousands forms before the requests of others. Each asks twice: to learn, and to say that it has
 *              dropped. 10,000 holders are hinted in 0.4 s, and their 20,000 requests take storage a second.
 *     lost     a holder whose hint is lost asks within its pause: 1.6 s.
 *     silence  a holder that is dead: its lease and a tenth, 2.2 s to 2.42 s. */
#ifndef WEIR_STORAGE_USE_LEASES_H
#define WEIR_STORAGE_USE_LEASES_H

#include "core/base/attributes.h"
#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORAGE_LEASE_MS = 2000, /* at least */
    STORAGE_LEASE_KEPT_MS = STORAGE_LEASE_MS + STORAGE_LEASE_MS / 10,
    STORAGE_HOLD_MS = 500,         /* between two requests of a holder, at least */
    STORAGE_HOLD_MAX_MS = 1600,    /* … and at most */
    STORAGE_ANSWER_MS = 600,       /* of a lease, left for the answer that renews it */
    STORAGE_HOLDS_A_SECOND = 6250, /* requests of all holders together, about */
    STORAGE_LEASE_MAX_MS = STORAGE_HOLD_MAX_MS + STORAGE_ANSWER_MS,
    STORAGE_LEASE_KEPT_MAX_MS = STORAGE_LEASE_MAX_MS + STORAGE_LEASE_MAX_MS / 10,
    /* with a running lease, at the same time: twice POOL_WORKERS_MAX */
    STORAGE_HOLDERS_MAX = 32768,
    STORAGE_TRAINERS_MAX = STORAGE_HOLDERS_MAX / 4,  /* of them, of trainers … */
    STORAGE_ELSEWHERE_MAX = STORAGE_HOLDERS_MAX / 2, /* … of workers that come with keys */
    STORAGE_ERASED_MAX = 65536,                      /* ids per epoch, and per answer */
    STORAGE_HINTS_AT_ONCE = 256,
    STORAGE_HINT_MS = 10, /* between hints to so many */
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
 * STORAGE_ERASED_MAX. The caller then hints the holders that storage_leases_hint() lists. */
uint64_t storage_leases_add(struct use_leases *leases, const uint64_t *ids, size_t count);

/* Holders of a kind leave room for those of the others. */
enum use_kind {
    USE_OF_PLATFORM, /* its own processes: as many as there is room for */
    USE_OF_TRAINER,
    USE_OF_WORKER_ELSEWHERE,
    USE_KINDS,
};

/* A request to `hold`, or to end that. */
struct use_request {
    uint64_t session;
    uint64_t epoch; /* it has dropped everything erased up to here */
    enum use_kind kind;
    const char *key; /* name of the sender's; NULL, "": it is on this host */
};

/* The answer to `hold`. */
struct use_grant {
    uint64_t epoch;    /* `erased` completes the holder's knowledge up to here; it may be older than
                          the newest */
    uint32_t lease_ms; /* counted by the holder from when it sent the request */
    /* minimum until its next request, unless it is hinted or has dropped something */
    uint32_t pause_ms;
    /* ids erased in (named, epoch], borrowed until the next storage_leases_add() */
    const uint64_t *erased;
    size_t erased_count;
    size_t slot; /* < STORAGE_HOLDERS_MAX; where the caller keeps the holder's route */
    /* it was the last that some epoch waited for: look at storage_leases_force() */
    bool is_awaited;
};

/* A holder renews its lease and names the epoch up to which it has dropped everything erased. An
 * old request that arrives late does no harm. LIMIT, and no lease, when STORAGE_HOLDERS_MAX leases
 * are running, or as many of its kind or key as there can be; DENIED for a session of another key. */
enum weir_status storage_leases_hold(struct use_leases *leases, const struct use_request *asked,
                                     int64_t now_ms, struct use_grant *ret_grant,
                                     struct weir_error *err) WEIR_MUST_USE;

/* The holder no longer holds anything. A session that has ended must not be used again. DENIED, and it goes on, for a
 * session of another key. */
enum weir_status storage_leases_hold_end(struct use_leases *leases, const struct use_request *asked,
                                         struct weir_error *err) WEIR_MUST_USE;

struct epoch_force {
    bool in_force;
    /* once in force: holders known before the epoch that have named it, or have ended */
    size_t answered;
    size_t expired; /* once in force: holders known before the epoch whose lease ran out instead */
    int64_t expected_ms; /* when it will be in force at the latest, if nobody renews: <= now_ms when
                            in force */
};

/* Progress of `epoch`. Call again after an answer that was awaited, and at expected_ms. */
struct epoch_force storage_leases_force(struct use_leases *leases, uint64_t epoch, int64_t now_ms);

/* Fills `slots` with the next holders that are to be hinted, at most `most`: their lease runs, and they have not named
 * the newest epoch. Returns their number; less than `most`: there are no more of them. */
size_t storage_leases_hint(struct use_leases *leases, int64_t now_ms, size_t *slots, size_t most);

#endif
