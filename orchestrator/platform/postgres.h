/* The private Postgres of a data directory: found, initialised, and described as a child for the
 * supervisor. Listens on a Unix socket in a 0700 directory only; root and the user it runs as
 * connect as database user `weir` by peer authentication, nobody else can. */
#ifndef ORCHESTRATOR_PLATFORM_POSTGRES_H
#define ORCHESTRATOR_PLATFORM_POSTGRES_H

#include "core/base/error.h"
#include "orchestrator/processes/identity.h"

struct weir_postgres_options {
    const char *bin_dir;    /* where `postgres` and `initdb` are; NULL: the newest installed */
    const char *cluster;    /* the cluster's directory; its parent exists and is writable for it */
    const char *socket_dir; /* exists, 0700 */
    const char *log_path;
    const struct weir_identity *identity; /* NULL: run as whoever we are, which is not root */
    bool is_used; /* the data directory has a store: its cluster is there, or was lost */
};

struct weir_postgres;

/* Finds the programs and makes the cluster if there is none: blocks for about half a second then,
 * and a killed attempt leaves nothing behind. NOT_FOUND names the package when Postgres is not
 * installed; UNSUPPORTED when the cluster was made by another major version; CORRUPT when it is missing and the data
 * directory is used. */
enum weir_status weir_postgres_prepare(const struct weir_postgres_options *options,
                                       struct weir_postgres **ret_postgres,
                                       struct weir_error *err) WEIR_MUST_USE;
void weir_postgres_free(struct weir_postgres *postgres);
WEIR_DEFINE_AUTO(weir_postgres, weir_postgres_free)

/* The command to run in the foreground; stop it with SIGINT, then SIGQUIT, never SIGKILL. */
char *const *weir_postgres_argv(const struct weir_postgres *postgres);
char *const *weir_postgres_env(const struct weir_postgres *postgres);
/* libpq's words for the database `weir`. */
const char *weir_postgres_conninfo(const struct weir_postgres *postgres);

/* Call before each start: ends a server that an earlier, killed supervisor left running on this
 * cluster and removes a pid file whose number now belongs to another program. Takes the lock of the
 * data directory for granted. */
void weir_postgres_clear_stale(const struct weir_postgres *postgres);

/* UNAVAILABLE until the server answers; then makes sure that the database `weir` exists. Takes
 * milliseconds: ask again from a timer. */
enum weir_status weir_postgres_ask(const struct weir_postgres *postgres,
                                   struct weir_error *err) WEIR_MUST_USE;

#endif
