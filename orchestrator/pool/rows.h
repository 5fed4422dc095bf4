/* The pool as it lies in Postgres: what it should be, and a row for each worker. */
#ifndef ORCHESTRATOR_POOL_ROWS_H
#define ORCHESTRATOR_POOL_ROWS_H

#include "orchestrator/context/context.h"
#include "orchestrator/pool/members.h"

enum { POOL_TOKEN_SIZE = 17, POOL_AUTO = -1 };

struct pool_standing {
    char token[POOL_TOKEN_SIZE]; /* in the names of its groups: no other platform has it */
    int64_t resizes;             /* told to people */
    int64_t wanted;              /* workers of the pool, by a person; or POOL_AUTO */
    uint32_t targets[POOL_PLACES];
};

/* Makes the row of the pool, with `target` workers, unless there is one. */
enum weir_status orchestrator_pool_load(const struct context *context, uint32_t target,
                                        struct pool_standing *ret_standing,
                                        struct pool_members *ret_members,
                                        struct weir_error *err) WEIR_MUST_USE;
bool orchestrator_pool_same(const struct pool_standing *standing, const struct pool_standing *as);
bool orchestrator_pool_same_members(const struct pool_members *members,
                                    const struct pool_members *as);
/* Inside a transaction: writes what differs from what there is. */
enum weir_status orchestrator_pool_note(const struct context *context,
                                        const struct pool_standing *standing,
                                        const struct pool_members *before,
                                        const struct pool_members *members,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
