/* The names in a data directory: made, and looked for in a directory that is to become one. */
#ifndef ORCHESTRATOR_PLATFORM_LAYOUT_H
#define ORCHESTRATOR_PLATFORM_LAYOUT_H

#include "core/base/error.h"

#define ORCHESTRATOR_LAYOUT_LOCK             "lock"
#define ORCHESTRATOR_LAYOUT_SOCKETS          "run"
#define ORCHESTRATOR_LAYOUT_CLUSTER          "postgres"
#define ORCHESTRATOR_LAYOUT_CLUSTER_LOCATION "postgres.location"

/* Returns EXISTS, naming some of what it holds, for a directory that is neither empty nor a platform's, one that died
 * at its first start included. */
enum weir_status orchestrator_layout_check(const char *directory,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Makes the folders that the services write in. */
enum weir_status orchestrator_layout_make(const char *directory,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
