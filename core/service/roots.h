/* Folders that sources, and files that pipelines name, may lie in: `roots` of the system file. Without that key any
 * folder may be named, as the person at the shell could read it, too; but never one of Weir's own, such as the data
 * directory.
 *
 * The orchestrator puts the list into the environment variable WEIR_ROOTS; the processes it starts find it there. */
#ifndef WEIR_SERVICE_ROOTS_H
#define WEIR_SERVICE_ROOTS_H

#include "core/config/schema.h"

/* Checks the list (NULL: none): absolute paths of folders. INVALID with file:line:column. */
enum weir_status weir_roots_check(const struct weir_yaml_node *roots,
                                  struct weir_error *err) WEIR_MUST_USE;
/* Lets the processes that are started from now on know the list (NULL: any folder). */
void weir_roots_hand_on(const struct weir_yaml_node *roots);
/* Environment variable with directories of Weir's own, a line each: weir_programs_close(). */
#define WEIR_CLOSED "WEIR_CLOSED"

/* True when `path`, with symbolic links and dots resolved, is one of the roots or lies below one, and is none of Weir's
 * own. A path that does not exist is judged as it is written. */
bool weir_roots_allow(const char *path);
/* True when `path` is one of Weir's own directories, or lies below one. */
bool weir_roots_is_own(const char *path);
/* Returns the first of Weir's own directories that `path` is or contains, for the caller to free; NULL: none. */
char *weir_roots_own_within(const char *path) WEIR_MUST_USE;
/* Like weir_roots_allow(), of an open file or folder, wherever it is now. */
bool weir_roots_allow_open(int fd);

#endif
