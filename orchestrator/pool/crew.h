/* The platform as the pool needs it, to put workers somewhere: given to it when it is opened. */
#ifndef ORCHESTRATOR_POOL_CREW_H
#define ORCHESTRATOR_POOL_CREW_H

#include "orchestrator/launchers/launcher.h"
#include "orchestrator/pool/members.h"

/* Workers that are started at once. */
struct crew_group {
    const char *name;  /* unique for all time, on all platforms */
    const char *place; /* pool, host */
    const char *launcher;
    const char *key; /* file of the pass that its workers prove; NULL: none, they are here */
    const char *const *names;
    size_t count;
};

struct orchestrator_crew {
    void *owner;
    const char *launchers[POOL_PLACES]; /* their names */
    bool are_elsewhere[POOL_PLACES];    /* its workers have a key */
    /* As those of a launcher (orchestrator/launchers/launcher.h). */
    enum weir_status (*start)(void *owner, const struct crew_group *group, struct weir_error *err);
    enum weir_status (*adopt)(void *owner, const struct crew_group *group, struct weir_error *err);
    void (*stop)(void *owner, const char *name);
    size_t (*list)(const void *owner, struct launcher_process *processes, size_t max);
};

#endif
