/* Giving a data directory to its user, and private directories in places others can write to. */
#ifndef ORCHESTRATOR_PLATFORM_OWNERSHIP_H
#define ORCHESTRATOR_PLATFORM_OWNERSHIP_H

#include "core/base/error.h"
#include "orchestrator/processes/identity.h"

/* As root: makes `identity` own the data directory `path` and Weir's own entries in it; nothing
 * else that lies there is touched. Does nothing when the directory belongs to it already: the top
 * changes hands last. */
enum weir_status orchestrator_ownership_give(const char *path,
                                             const struct orchestrator_identity *identity,
                                             struct weir_error *err) WEIR_MUST_USE;

/* Makes `path` a directory that `user` alone may enter, or finds it to be one. DENIED when somebody
 * else's thing is in its place. */
enum weir_status orchestrator_ownership_private_directory(const char *path, uid_t user,
                                                          struct weir_error *err) WEIR_MUST_USE;

#endif
