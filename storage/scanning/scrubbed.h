/* Files that are only referred to and that an erasure has overwritten in part. A scrub keeps size and mtime, for the
 * other samples have not changed: a copy from before it (`cp -p`) looks the same then, but for its ctime. */
#ifndef WEIR_STORAGE_SCRUBBED_H
#define WEIR_STORAGE_SCRUBBED_H

#include "storage/scanning/scan.h"

#include <sys/stat.h>

/* True when something has changed `file` since it was scrubbed, as `found` tells. */
bool storage_scrubbed_is_changed(const struct stored_file *file, const struct stat *found);

enum scrubbed {
    SCRUBBED_STILL, /* what was erased is not there */
    SCRUBBED_BACK,  /* some of it is */
    SCRUBBED_MANY,  /* more was erased than is looked at */
};
/* Looks at the places of its erased samples. STALE as storage_source_open(). */
enum weir_status storage_scrubbed_look(const struct dataset *dataset,
                                       const struct scan_tools *tools,
                                       const struct stored_file *file, const struct stat *found,
                                       enum scrubbed *ret_scrubbed,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
