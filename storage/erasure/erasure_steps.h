/* Erasures on their way: accepted, tombstoned, in force, scrubbed, verified (docs/contracts.md). Each step is
 * one transaction or idempotent, so that a death anywhere only repeats work. Who may still use an erased
 * sample is use_leases.h's; bytes are overwritten by scrub_round.c, and searched by search.h. */
#ifndef WEIR_STORAGE_ERASURE_STEPS_H
#define WEIR_STORAGE_ERASURE_STEPS_H

#include "core/wire/wire.h"
#include "storage/erasure/eraser.h"

enum {
    ERASE_SUBJECTS_MAX = 65536,
    ERASE_IDS_MAX = 1 << 20,
    ERASE_TROUBLES_MAX = 1000, /* of one answer */
};

/* Loads what is open, whose data must stay out, and the epochs that the state machine lacks. */
enum weir_status storage_erasure_load(struct eraser *eraser, struct weir_error *err) WEIR_MUST_USE;

/* True while scans must wait: a death may have left files half-way, and they are not looked at again yet. Not while
 * a file stands in the way of that. */
bool storage_erasure_is_scrubbing(const struct eraser *eraser);
/* True while one of them is in force and not overwritten: it may have been stopped in the middle of a sample. */
bool storage_erasure_is_half_way(const struct eraser *eraser);
/* True while no sorted runs may be merged: they are gone over in pieces. */
bool storage_erasure_holds_runs(const struct eraser *eraser);
/* One piece of work. *ret_more: there is more to do now. *ret_wait_ms: else, when to call again; 0: when
 * something happens. After an error the catalog must be loaded again. */
enum weir_status storage_erasure_step(struct eraser *eraser, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err) WEIR_MUST_USE;

/* erase_accept.c: requests wait for the end of the round, so that many share a transaction. */
struct accepts *storage_accepts_new(struct eraser *eraser);
void storage_accepts_free(struct accepts *accepts);
void storage_accept(struct eraser *eraser, struct weir_request *request);
/* Requests are on their way to disk. */
bool storage_accepts_any(const struct accepts *accepts);
/* A request and what becomes of it. */
struct erase_acceptance {
    const struct msg_erase_accept *asked;
    struct weir_arena *arena; /* of the answer */
    struct msg_erase_accepted answer;
    enum weir_status status;
    struct weir_error err;
    struct erase_request *request; /* until it has its row */
};
/* Inside a transaction: all of them, in few statements. A request that asks for something wrong is refused alone, by
 * its `status`: NOT_FOUND when a match is expected and nothing has any of its names. Anything else ends the
 * transaction. */
enum weir_status storage_erase_accept_all(struct eraser *eraser,
                                          struct erase_acceptance *const *all, size_t count,
                                          struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_erase_describe(struct eraser *eraser,
                                        const struct msg_erase_request *asked,
                                        struct weir_arena *arena, struct msg_erase_is *answer,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Erasures that have moved on since; the samples of those in force; what was done for them. LIMIT when more
 * are named than one answer holds. */
enum weir_status storage_erase_progress(struct store *store,
                                        const struct msg_erase_progress_request *asked,
                                        struct weir_arena *arena, struct msg_erase_progress *answer,
                                        struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_erase_samples(struct store *store,
                                       const struct msg_erase_samples_request *asked,
                                       struct weir_arena *arena, struct msg_erase_samples *answer,
                                       struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_erase_reports(struct store *store,
                                       const struct msg_erase_reports_request *asked,
                                       struct weir_arena *arena, struct msg_erase_reports *answer,
                                       struct weir_error *err) WEIR_MUST_USE;
/* sealing.c: erasures that wait for the orchestrator's seal, and those that it has sealed. */
void storage_erase_scrubbed(const struct eraser *eraser, struct weir_arena *arena,
                            struct msg_erase_scrubbed *answer);
void storage_erase_search(struct eraser *eraser, const struct msg_erase_search *asked);
/* Which samples such a request would mean now, as far as hashes tell; changes nothing. LIMIT when they are
 * more than one message holds. */
enum weir_status storage_erase_find(struct store *store, const struct msg_find *asked,
                                    struct weir_arena *arena, struct msg_found *answer,
                                    struct weir_error *err) WEIR_MUST_USE;
/* erase_check.c: whether the next samples of a verified erasure are still gone, as far as can be asked: the
 * fingerprints that its search was made with are gone as well. INVALID before it is verified. */
enum weir_status storage_erase_check(struct eraser *eraser, const struct msg_erase_check *asked,
                                     struct msg_erase_checked *answer,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Fills `trouble`, what stands in the way of its bytes, here or in a bucket, for a person, "": nothing; and
 * `unverified`. */
enum weir_status storage_erasure_trouble(struct eraser *eraser, uint64_t number,
                                         struct weir_arena *arena, struct msg_erase_is *answer,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The same of all. */
enum weir_status storage_erasure_troubles(struct eraser *eraser, struct weir_arena *arena,
                                          struct msg_erase_troubles *answer,
                                          struct weir_error *err) WEIR_MUST_USE;
/* holding.c: the answer to `hold`, from memory alone: a holder must not lose its lease to Postgres. */
void storage_hold(struct eraser *eraser, struct weir_request *request);
void storage_hold_end(struct eraser *eraser, const struct weir_request *request);
/* Tells the holders that have not named the newest epoch to ask. */
void storage_erasure_hint(struct eraser *eraser);

#endif
