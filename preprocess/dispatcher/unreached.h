/* Workers of a job's crew that a consumer of it cannot reach: they are leased nothing of the job, for what they make
 * would never arrive. Consumers name them in each beat for as long as that is so; nothing is remembered for longer, as
 * another session, or another network, may be reached. Pure; owned by struct dispatcher_entry. */
#ifndef WEIR_PREPROCESS_DISPATCHER_UNREACHED_H
#define WEIR_PREPROCESS_DISPATCHER_UNREACHED_H

#include "preprocess/dispatcher/pool.h"

enum { UNREACHED_MS = 2000 /* that a consumer's word counts: some beats of it */ };

/* Zeroed: all are reached. */
struct unreached {
    struct {
        uint64_t session; /* of the worker */
        int64_t until_ms;
    } at[POOL_CREW];
};

/* A consumer has said that it cannot reach a worker. True when that was not so before. */
bool preprocess_unreached_note(struct unreached *unreached, uint32_t worker, uint64_t session,
                               int64_t now_ms);
/* NULL: all are reached. */
bool preprocess_unreached_is(const struct unreached *unreached, uint32_t worker, uint64_t session,
                             int64_t now_ms);

#endif
