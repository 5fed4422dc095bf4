/* The files of a private Postgres: its programs on this machine, and its cluster on disk. */
#ifndef ORCHESTRATOR_PLATFORM_CLUSTER_H
#define ORCHESTRATOR_PLATFORM_CLUSTER_H

#include "orchestrator/platform/postgres.h"

/* The directory that holds `postgres` and `initdb`: the option, else the version that made the
 * cluster, else the newest installed, else PATH. */
enum weir_status weir_cluster_find_programs(const struct weir_postgres_options *options,
                                            char **ret_bin_dir,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Makes the cluster unless it is there: built in CLUSTER.tmp, complete before it gets its name. CORRUPT when it is
 * missing and the data directory is used. */
enum weir_status weir_cluster_make(const struct weir_postgres_options *options, const char *bin_dir,
                                   char *const *env, struct weir_error *err) WEIR_MUST_USE;

#endif
