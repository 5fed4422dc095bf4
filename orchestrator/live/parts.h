/* Parts of the live page: of each its newest text, and a number that grows with each change of any. Whoever is sent
 * parts in the order of their numbers, each as it is by then, has all of the newest ones in the end, however slowly; no
 * older text is kept for that. Pure. */
#ifndef ORCHESTRATOR_LIVE_PARTS_H
#define ORCHESTRATOR_LIVE_PARTS_H

#include "orchestrator/live/scopes.h"

#include <sys/queue.h>

/* The subject of a part: a pipeline, and so it is for all scopes that have it; or a scope. */
struct live_subject {
    int64_t pipeline;               /* its number; 0: it is of none */
    const struct live_scope *scope; /* NULL: it is of a pipeline */
};

struct live_part {
    TAILQ_ENTRY(live_part) link;
    const void *kind; /* the owner's */
    struct live_subject of;
    struct live_text *text; /* NULL: none yet */
    uint64_t number;        /* of its newest change */
    bool is_stale;          /* to be asked for again */
    bool is_asked;          /* for, and not answered yet */
    void *owner;
};

struct live_parts {
    TAILQ_HEAD(, live_part) all;
    uint64_t number; /* of the newest change */
};

void orchestrator_live_parts_init(struct live_parts *parts);
/* NULL: there is none. */
struct live_part *orchestrator_live_part_of(const struct live_parts *parts, const void *kind,
                                            struct live_subject of);
/* A new one, stale. */
struct live_part *orchestrator_live_part_add(struct live_parts *parts, const void *kind,
                                             struct live_subject of);
/* Returns true when it is another text than before. */
bool orchestrator_live_part_set(struct live_parts *parts, struct live_part *part,
                                struct weir_bytes text);
/* Counts all parts of a pipeline as changed. Returns true when it has any. */
bool orchestrator_live_parts_renew(struct live_parts *parts, int64_t pipeline);
void orchestrator_live_part_drop(struct live_parts *parts, struct live_part *part);
/* The first part that has changed since a number, of those for a scope; NULL: none has. */
const struct live_part *orchestrator_live_part_after(const struct live_parts *parts,
                                                     const struct live_scope *scope,
                                                     uint64_t number);

#endif
