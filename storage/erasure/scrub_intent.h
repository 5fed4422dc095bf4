/* Which bytes of which file an erasure is overwriting: written down, and on disk, before the first of them is. A
 * death in the middle leaves a record that no format may understand and a file with another mtime; whoever finds
 * them sees here that they are ours. One at a time, in DATA_DIR/scrubbing. */
#ifndef WEIR_STORAGE_SCRUB_INTENT_H
#define WEIR_STORAGE_SCRUB_INTENT_H

#include "storage/formats/format.h"

#include <sys/stat.h>

struct scrub_intent {
    uint64_t device, inode;
    struct format_range payload; /* of the sample */
    struct format_range extent;  /* what is overwritten */
};

enum weir_status storage_scrub_intend(const char *data_dir, const struct scrub_intent *intent,
                                      struct weir_error *err) WEIR_MUST_USE;
/* False when nothing is intended, or it was not written down whole: then nothing was overwritten. */
bool storage_scrub_intended(const char *data_dir, struct scrub_intent *ret_intent);
/* True when what `found` describes is being overwritten. */
bool storage_scrub_is_of(const char *data_dir, const struct stat *found);
void storage_scrub_intend_nothing(const char *data_dir);

#endif
