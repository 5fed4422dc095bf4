/* The files of a private Postgres: its programs on this machine, and its cluster on disk. */
#ifndef ORCHESTRATOR_PLATFORM_CLUSTER_H
#define ORCHESTRATOR_PLATFORM_CLUSTER_H

#include "orchestrator/platform/postgres.h"

/* The directory that holds `postgres` and `initdb`: the option, else the version that made the
 * cluster, else the newest installed, else PATH. */
enum weir_status orchestrator_cluster_find_programs(
    const struct orchestrator_postgres_options *options, char **ret_bin_dir,
    struct weir_error *err) WEIR_MUST_USE;

bool orchestrator_cluster_is_made(const char *cluster);

/* Begins to make the cluster `options->cluster`: starts initdb in CLUSTER.tmp, as the child `initdb` of the maker's
 * supervisor. */
enum weir_status orchestrator_cluster_begin(const struct orchestrator_postgres_options *options,
                                            const char *bin_dir, char *const *env,
                                            const struct orchestrator_cluster_maker *maker,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Completes the cluster after that child has ended, and gives it its name. IO when initdb failed. */
enum weir_status orchestrator_cluster_finish(const struct orchestrator_postgres_options *options,
                                             const struct orchestrator_child_exit *ended,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
