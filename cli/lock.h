/* The lock of a data directory as others see it: whether somebody serves the directory, and where its sockets are. Its
 * writer is orchestrator/platform/datadir.c: held with flock; first line the process, second the socket directory. */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H

#include "core/base/error.h"

#include <stdbool.h>

struct cli_lock {
    bool held;
    long pid;
    char *socket_dir; /* "" as long as it is not written */
};

/* Reads what it says; `held` stays false. INVALID when the directory is missing or was never
 * served; DENIED when this user may not look. */
enum weir_status cli_lock_read(const char *data_dir, struct cli_lock *ret_lock,
                               struct weir_error *err) WEIR_MUST_USE;
/* The same, and whether it is held. Takes the lock for a moment: not while an orchestrator is starting there. */
enum weir_status cli_lock_look(const char *data_dir, struct cli_lock *ret_lock,
                               struct weir_error *err) WEIR_MUST_USE;
void cli_lock_fini(struct cli_lock *lock);
static inline void cli_auto_lock(struct cli_lock *lock)
{
    cli_lock_fini(lock);
}
#define CLI_AUTO_LOCK __attribute__((cleanup(cli_auto_lock))) struct cli_lock

#endif
