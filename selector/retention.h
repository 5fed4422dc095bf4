/* Which files of sets may go. The set of a trigger never does: models that were trained on it, and what follows
 * an erasure, need it for as long as the pipeline is known. Sets of evaluations, predictions and scorings can
 * be sealed again by whoever asks again: they go, rows first, once nobody has asked for them for so long.
 * Whatever dies in between, a row never names a file that is not there. */
#ifndef SELECTOR_RETENTION_H
#define SELECTOR_RETENTION_H

#include "core/db/db.h"

struct selector_swept {
    uint64_t kept;
    uint64_t kept_bytes;
    uint64_t removed;
    uint64_t removed_bytes;
};

/* Removes what was written last before `before_us` (microseconds since 1970) and is no trigger's. What a writer
 * left behind when it died goes whatever its age with `at_start`, when nobody writes. */
enum weir_status selector_retention_sweep(struct weir_db *db, const char *data_dir,
                                          int64_t before_us, bool at_start,
                                          struct selector_swept *ret_swept,
                                          struct weir_error *err) WEIR_MUST_USE;
#endif
