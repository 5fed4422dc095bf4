/* Folders below TMPDIR: data directories of dry runs, and what checks have fetched and expanded. One whose process was
 * killed holds copies of samples: whoever starts next removes it. */
#ifndef ORCHESTRATOR_SCRATCH_DIR_H
#define ORCHESTRATOR_SCRATCH_DIR_H

#include "core/base/error.h"

#include <stdint.h>

/* Makes one, of mode 0700 and with a name that nobody can foretell, in caller's memory. */
enum weir_status orchestrator_scratch_dir_make(char **ret_path,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Locks it, as a platform locks its data directory, until the descriptor is closed. */
int orchestrator_scratch_dir_lock(const char *path);
/* Removes it with all that is in it; a failure is logged. */
void orchestrator_scratch_dir_remove(const char *path);

/* Removes those that no process has locked; one that was made within a minute of `now_us`, by the wall clock, may not
 * be locked yet. Best effort. */
void orchestrator_scratch_dir_sweep(int64_t now_us);

#endif
