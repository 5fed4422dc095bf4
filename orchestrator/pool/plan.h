/* The next state of each worker, by what is seen of it, and which are started, drained and ended, by how many there
 * should be. The rim (pool.c) commits the result before it acts on it. Pure: time is handed in. */
#ifndef ORCHESTRATOR_POOL_PLAN_H
#define ORCHESTRATOR_POOL_PLAN_H

#include "orchestrator/launchers/launcher.h"
#include "orchestrator/pool/members.h"

enum {
    POOL_DRAIN_MS = 60000, /* then it is ended with what it holds, which others make again */
    POOL_AGAIN_MS = 2000,  /* before one that was refused or lost is asked for again */
};

/* Of one member. */
struct pool_sight {
    enum launcher_state state;
    const char *reason; /* of its launcher; "": none */
    bool is_drained;    /* it holds nothing, as the dispatcher says */
};

struct pool_view {
    uint32_t targets[POOL_PLACES];
    uint32_t max[POOL_PLACES];       /* of processes, those included that are to end */
    int64_t now_ms, now_us;          /* of the loop, and of the calendar */
    const struct pool_sight *sights; /* one for each member, in their order */
    const char *launchers[POOL_PLACES];
};

/* Moves all members on. Those that are to be started are POOL_STARTING in a new group, one for each place: the numbers
 * above the former `groups`. Those of a launcher that is no longer that of their place are ended. */
void orchestrator_pool_plan(const struct pool_view *view, struct pool_members *members);

#endif
