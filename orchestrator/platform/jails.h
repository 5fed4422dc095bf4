/* Jails of the programs of the user: which places of the platform are closed to them and hidden from them, and what
 * this system lacks to hold them (docs/decisions/010-sockets-for-trainers.md). */
#ifndef ORCHESTRATOR_PLATFORM_JAILS_H
#define ORCHESTRATOR_PLATFORM_JAILS_H

#include "core/base/jail.h"
#include "orchestrator/platform/datadir.h"

struct orchestrator_jails {
    struct weir_jail trainers; /* points into the lists; lacks what a run opens */
    const char *closed[6];     /* NULL at the end included */
    const char *hidden[3];
};

/* Finds out what this system can do, logs what it cannot, and closes the places to programs of operators, which workers
 * start. `has_tcp`: batches go over TCP; `folder` is closed as well (NULL: none). `ret_jails` stays where it is, and
 * borrows from both. */
void orchestrator_jails_prepare(const struct orchestrator_datadir *datadir, const char *folder,
                                bool has_tcp, struct orchestrator_jails *ret_jails);

#endif
