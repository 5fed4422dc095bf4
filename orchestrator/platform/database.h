/* The database `weir` of a server that has just come up. */
#ifndef ORCHESTRATOR_PLATFORM_DATABASE_H
#define ORCHESTRATOR_PLATFORM_DATABASE_H

#include "core/base/error.h"

#include <stdint.h>

/* Makes the database `weir`, by way of that which `admin_conninfo` names, unless `conninfo` leads to it. Gives up after
 * `within_ms`, whatever the server does: UNAVAILABLE. */
enum weir_status orchestrator_database_make(const char *conninfo, const char *admin_conninfo,
                                            int64_t within_ms,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
