/* The data directory: made, locked for this process, laid out, and owned by whoever Weir's
 * processes run as. Owned by the platform; held open as long as Weir serves the directory.
 *
 *     lock        held with flock; first line the process that serves, second its socket directory
 *     secret      made by storage
 *     postgres/   the private cluster (or postgres.location names where it lies)
 *     run/        sockets, 0700; in run/trainer/ those for trainers      log/  one file per process
 *     storage/ sets/ runs/ models/ fitted/ receipts/
 *
 * Started as root, opening a data directory ends with this process running as the directory's
 * user: nothing of Weir stays root (docs/decisions/003-privileges.md). */
#ifndef ORCHESTRATOR_PLATFORM_DATADIR_H
#define ORCHESTRATOR_PLATFORM_DATADIR_H

#include "core/base/error.h"
#include "orchestrator/processes/identity.h"

#include <stdbool.h>

struct orchestrator_datadir_options {
    const char *path; /* made when absent */
    const char *user; /* to run as when started as root; NULL: see orchestrator_identity_choose() */
    const char *bin_dir; /* must be usable by that user too */
};

struct orchestrator_datadir {
    char *path;        /* absolute */
    char *socket_dir;  /* run/, or one below /tmp when that path is too long for a socket */
    char *trainer_dir; /* inside it: sockets for trainers */
    char *cluster;     /* directory of the Postgres cluster */
    char *cluster_socket_dir;
    int directory_fd;   /* what is locked: the data directory itself, */
    int lock_fd;        /* its file "lock", which says who holds it and where its sockets are, */
    int base_fd;        /* and the directory around a cluster outside; -1: none */
    bool cluster_drops; /* Postgres alone runs as `identity`, which cannot reach the rest */
    struct orchestrator_identity identity; /* of the children when uid is not 0 */
};

/* LIMIT "data directory X is in use by process N", DENIED when it belongs to somebody else, EXISTS when it holds what
 * no platform has put there; it is as it was then. A path
 * that the unprivileged user cannot reach is used as root, except for Postgres, whose cluster then
 * lies below /var/lib/weir: that is logged. */
enum weir_status orchestrator_datadir_open(const struct orchestrator_datadir_options *options,
                                           struct orchestrator_datadir **ret_datadir,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Gives up the lock. */
void orchestrator_datadir_close(struct orchestrator_datadir *datadir);
WEIR_DEFINE_AUTO(orchestrator_datadir, orchestrator_datadir_close)

/* As root: the user that a platform of these options becomes, whose directory it is, or would be. *ret_missed is what
 * that user cannot reach, so that all but Postgres stay root; NULL: nothing. free() it. Errors as
 * orchestrator_identity_choose(). */
enum weir_status orchestrator_datadir_user(const struct orchestrator_datadir_options *options,
                                           struct orchestrator_identity *ret_identity,
                                           char **ret_missed, struct weir_error *err) WEIR_MUST_USE;

/* PATH/NAME in caller's memory. */
char *orchestrator_datadir_file(const struct orchestrator_datadir *datadir,
                                const char *name) WEIR_MUST_USE;

#endif
