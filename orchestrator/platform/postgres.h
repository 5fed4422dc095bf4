/* The private Postgres of a data directory: found, initialised, and described as a child for the
 * supervisor. Listens on a Unix socket in a 0700 directory only; root and the user it runs as
 * connect as database user `weir` by peer authentication, nobody else can. */
#ifndef ORCHESTRATOR_PLATFORM_POSTGRES_H
#define ORCHESTRATOR_PLATFORM_POSTGRES_H

#include "orchestrator/platform/cluster.h"

struct orchestrator_postgres_options {
    const char *bin_dir;    /* where `postgres` and `initdb` are; NULL: the newest installed */
    const char *cluster;    /* the cluster's directory; its parent exists and is writable for it */
    const char *socket_dir; /* exists, 0700 */
    const char *log_path;
    /* outlives the server; NULL: run as whoever we are, which is not root */
    const struct orchestrator_identity *identity;
    bool is_used; /* the data directory has a store: its cluster is there, or was lost */
};

struct orchestrator_postgres;

/* Finds the programs. NOT_FOUND names the package when Postgres is not installed; UNSUPPORTED when the cluster was made
 * by another major version; CORRUPT when it is missing and the data directory is used. */
enum weir_status orchestrator_postgres_prepare(const struct orchestrator_postgres_options *options,
                                               struct orchestrator_postgres **ret_postgres,
                                               struct weir_error *err) WEIR_MUST_USE;
void orchestrator_postgres_free(struct orchestrator_postgres *postgres);
WEIR_DEFINE_AUTO(orchestrator_postgres, orchestrator_postgres_free)

/* A server without a cluster gets one: begin, and finish once `exited` is called. That takes about half a second; a
 * killed attempt leaves nothing behind. IO may pass: begin again. */
bool orchestrator_postgres_has_cluster(const struct orchestrator_postgres *postgres);
enum weir_status orchestrator_postgres_begin_cluster(const struct orchestrator_postgres *postgres,
                                                     const struct orchestrator_cluster_maker *maker,
                                                     struct weir_error *err) WEIR_MUST_USE;
/* As orchestrator_cluster_written_ns(). */
int64_t orchestrator_postgres_written_ns(const struct orchestrator_postgres *postgres);
enum weir_status orchestrator_postgres_finish_cluster(const struct orchestrator_postgres *postgres,
                                                      const struct orchestrator_child_exit *ended,
                                                      struct weir_error *err) WEIR_MUST_USE;

/* The command to run in the foreground; stop it with SIGINT, then SIGQUIT, never SIGKILL. */
char *const *orchestrator_postgres_argv(const struct orchestrator_postgres *postgres);
char *const *orchestrator_postgres_env(const struct orchestrator_postgres *postgres);
/* libpq's words for the database `weir`. */
const char *orchestrator_postgres_conninfo(const struct orchestrator_postgres *postgres);

/* Call before each start: ends a server that an earlier, killed supervisor left running on this
 * cluster and removes a pid file whose number now belongs to another program. Takes the lock of the
 * data directory for granted. */
void orchestrator_postgres_clear_stale(const struct orchestrator_postgres *postgres);

/* UNAVAILABLE until the server answers; then makes sure that the database `weir` exists. Takes milliseconds, and never
 * more than `within_ms`: ask again from a timer. */
enum weir_status orchestrator_postgres_probe(const struct orchestrator_postgres *postgres,
                                             int64_t within_ms,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
