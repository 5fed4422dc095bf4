/* The files of a private Postgres: its programs on this machine, and its cluster on disk. */
#ifndef ORCHESTRATOR_PLATFORM_CLUSTER_H
#define ORCHESTRATOR_PLATFORM_CLUSTER_H

#include "core/base/error.h"
#include "orchestrator/processes/identity.h"
#include "orchestrator/processes/supervisor.h"

struct orchestrator_cluster {
    char *path; /* a directory whose parent exists and is writable for it */
    const struct orchestrator_identity *identity; /* NULL: made as whoever we are */
};

/* Finds the directory that holds `postgres` and `initdb`: `wanted`, else the version that made the cluster, else the
 * newest installed, else PATH. */
enum weir_status orchestrator_cluster_find_programs(const struct orchestrator_cluster *cluster,
                                                    const char *wanted, char **ret_bin_dir,
                                                    struct weir_error *err) WEIR_MUST_USE;

bool orchestrator_cluster_is_made(const struct orchestrator_cluster *cluster);

/* The supervisor under which initdb makes a cluster, and the function that is called at its end. */
struct orchestrator_cluster_maker {
    struct orchestrator_supervisor *supervisor;
    weir_child_exit_fn *exited;
    void *owner;
};

/* Begins to make the cluster: starts initdb in CLUSTER.tmp, as the child `initdb` of the maker's supervisor. */
enum weir_status orchestrator_cluster_begin(const struct orchestrator_cluster *cluster,
                                            const char *bin_dir, char *const *env,
                                            const struct orchestrator_cluster_maker *maker,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Time of the newest change to a cluster that is being made; 0: there is none yet. */
int64_t orchestrator_cluster_written_ns(const struct orchestrator_cluster *cluster);
/* Completes the cluster after that child has ended, and gives it its name. IO when initdb failed. */
enum weir_status orchestrator_cluster_finish(const struct orchestrator_cluster *cluster,
                                             const struct orchestrator_child_exit *ended,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
