/* The events that tell people of the pool: that another number of workers is wanted, by what, and what else there was;
 * that a worker is gone, or not started, and why. */
#ifndef ORCHESTRATOR_POOL_RESIZING_H
#define ORCHESTRATOR_POOL_RESIZING_H

#include "orchestrator/context/context.h"
#include "orchestrator/pool/members.h"

enum { POOL_EVENTS_KEPT = 1000 /* the newest */ };

struct pool_resizing {
    enum pool_place place;
    uint32_t from, to;
    const char *why;                  /* NULL: the dispatcher's word for it */
    const struct msg_pool_is *advice; /* newest; its columns are of equal length */
    int64_t number;                   /* among all */
};

/* True when the columns of all jobs are of equal length. */
bool orchestrator_pool_is_whole(const struct msg_pool_is *advice);
/* Inside a transaction. */
enum weir_status orchestrator_pool_tell(struct context *context,
                                        const struct pool_resizing *resizing,
                                        struct weir_error *err) WEIR_MUST_USE;

/* `number`: as above. Inside a transaction. */
enum weir_status orchestrator_pool_tell_lost(struct context *context,
                                             const struct pool_member *member, int64_t number,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
