/* The pool of workers: as many as the dispatcher says that the runs need, within the bounds of the system file, or as a
 * person has set. It tells the dispatcher the bounds and who is to end every POOL_ASK_MS, and at once when a job opens
 * or closes, and is told how many there should be, and who no longer holds anything. plan.h decides what becomes of
 * each worker; here that is committed, and done only then. Survives: a crash between any two steps. */
#ifndef ORCHESTRATOR_POOL_POOL_H
#define ORCHESTRATOR_POOL_POOL_H

#include "orchestrator/context/context.h"
#include "orchestrator/pool/crew.h"
#include "orchestrator/pool/rows.h"

enum { POOL_ASK_MS = 500 };

struct keys;
struct pool;

/* Loads what an earlier process has left, and starts the workers that are to be there; fails when they cannot be.
 * `context` and `keys` outlive it, and what `crew` is backed by, too. */
enum weir_status orchestrator_pool_open(struct context *context, struct keys *keys,
                                        const struct orchestrator_workers *bounds,
                                        const struct orchestrator_crew *crew,
                                        struct pool **ret_pool,
                                        struct weir_error *err) WEIR_MUST_USE;
/* The workers are left as they are. */
void orchestrator_pool_free(struct pool *pool);
/* From now on none is started or ended: everything is. */
void orchestrator_pool_rest(struct pool *pool);
/* A job has been opened, or closed: asks the dispatcher at once. NULL is fine, here and above. */
void orchestrator_pool_stir(struct pool *pool);

/* A worker's process has ended: looks at all in the next round. */
void orchestrator_pool_look(struct pool *pool);

/* So many workers from now on, or POOL_AUTO: as many as are needed. INVALID outside of the bounds. */
enum weir_status orchestrator_pool_set(struct pool *pool, int64_t wanted,
                                       struct weir_error *err) WEIR_MUST_USE;

/* For pages; borrowed until the loop goes on. */
struct pool_shown {
    const struct orchestrator_workers *bounds;
    const struct pool_standing *standing;
    const struct pool_members *members;
    const struct msg_pool_is *advice; /* newest of the dispatcher; empty before the first */
};
struct pool_shown orchestrator_pool_shown(const struct pool *pool);

#endif
