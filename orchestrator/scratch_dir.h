/* Data directories of dry runs, below TMPDIR. One whose process was killed holds copies of samples: whoever starts next
 * removes it. */
#ifndef ORCHESTRATOR_SCRATCH_DIR_H
#define ORCHESTRATOR_SCRATCH_DIR_H

#include "core/base/error.h"

#include <stdint.h>

/* Makes one, of mode 0700 and with a name that nobody can foretell, in caller's memory. */
enum weir_status orchestrator_scratch_dir_make(char **ret_path,
                                               struct weir_error *err) WEIR_MUST_USE;

/* Removes those that no process has locked; one that was made within a minute of `now_us`, by the wall clock, may not
 * be locked yet. Best effort. */
void orchestrator_scratch_dir_sweep(int64_t now_us);

#endif
