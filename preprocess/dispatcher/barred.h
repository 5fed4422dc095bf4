/* Workers of a job's crew that are leased nothing of it: a consumer of the job cannot reach them, so that what they
 * make would never arrive; or they cannot make it. Both are said again for as long as they are so, and nothing is
 * remembered for much longer: another session, or another network, may do. Pure; owned by struct dispatcher_entry. */
#ifndef WEIR_PREPROCESS_DISPATCHER_BARRED_H
#define WEIR_PREPROCESS_DISPATCHER_BARRED_H

#include "preprocess/dispatcher/pool.h"

enum {
    BARRED_UNREACHED_MS = 2000, /* by a consumer's word: some beats of it */
    BARRED_UNABLE_MS = 15000,   /* by the worker's own, which tries again every few seconds */
};

/* Zeroed: none are. */
struct barred {
    struct {
        uint64_t session; /* of the worker */
        int64_t until_ms;
    } at[POOL_CREW];
};

/* Bars a worker for `for_ms`. True when it was not before. */
bool preprocess_barred_note(struct barred *barred, const struct pool_worker *worker, uint32_t slot,
                            int64_t now_ms, int64_t for_ms);
/* NULL: nobody is. */
bool preprocess_barred_is(const struct barred *barred, uint32_t slot, uint64_t session,
                          int64_t now_ms);

#endif
