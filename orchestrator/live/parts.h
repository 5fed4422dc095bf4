/* Parts of the live page: of each its newest text, and a number that grows with each change of any. Whoever is sent
 * parts in the order of their numbers, each as it is by then, has all of the newest ones in the end, however slowly; no
 * older text is kept for that. Pure. */
#ifndef ORCHESTRATOR_LIVE_PARTS_H
#define ORCHESTRATOR_LIVE_PARTS_H

#include "core/base/bytes.h"

#include <sys/queue.h>

/* A text and who holds it. */
struct live_text {
    size_t holders;
    size_t size;
    char at[];
};

struct live_text *orchestrator_live_text_hold(struct live_text *text);
/* NULL is fine. */
void orchestrator_live_text_free(struct live_text *text);

struct live_part {
    TAILQ_ENTRY(live_part) link;
    const void *kind;       /* the owner's */
    int64_t about;          /* number of its pipeline; 0: it is of none */
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
                                            int64_t about);
/* A new one, stale. */
struct live_part *orchestrator_live_part_add(struct live_parts *parts, const void *kind,
                                             int64_t about);
/* Returns true when it is another text than before. */
bool orchestrator_live_part_set(struct live_parts *parts, struct live_part *part,
                                struct weir_bytes text);
void orchestrator_live_part_drop(struct live_parts *parts, struct live_part *part);
/* The first part that has changed since a number; NULL: none has. */
const struct live_part *orchestrator_live_part_after(const struct live_parts *parts,
                                                     uint64_t number);

#endif
