/* Which bytes of which files an erasure is overwriting: written down, and on disk, before the first of them is. A
 * death or an error in the middle leaves a record that no format may understand and a file with another mtime;
 * whoever finds them sees here that they are ours. In DATA_DIR/scrubbing, a slot each: for the samples at work,
 * and for those that an error has stopped half-way. */
#ifndef WEIR_STORAGE_SCRUB_INTENT_H
#define WEIR_STORAGE_SCRUB_INTENT_H

#include "storage/catalog/file_group.h"
#include "storage/formats/format.h"

#include <sys/stat.h>

enum { SCRUB_INTENTS_MAX = 1024 }; /* beyond, nothing more is begun before something is finished */
#define SCRUB_DROPPED (UINT64_C(1) << 63) /* in payload.length */

struct scrub_intent {
    uint64_t device, inode;
    struct format_range payload; /* of the sample */
    struct format_range extent;  /* what is overwritten */
};

/* All of them, with one sync. */
enum weir_status storage_scrub_intend(const char *data_dir, const struct scrub_intent *intents,
                                      size_t count, struct weir_error *err) WEIR_MUST_USE;
/* Intents on the file that `found` describes: into `intents`, which has room for SCRUB_INTENTS_MAX. Returns how many.
 * Of one that was not written down whole nothing was overwritten, and it is not among them. */
size_t storage_scrub_intents_of(const char *data_dir, const struct stat *found,
                                struct scrub_intent *intents);
/* True for bytes of no sample, which an order to drop them is overwriting (drop_file.h). */
static inline bool storage_scrub_is_dropped(const struct scrub_intent *intent)
{
    return (intent->payload.length & SCRUB_DROPPED) != 0;
}
/* They are overwritten, and on disk. */
void storage_scrub_done(const char *data_dir, const struct scrub_intent *intents, size_t count);
/* Moves the intents of a file to the one that it is known to be now. */
enum weir_status storage_scrub_intents_follow(const char *data_dir,
                                              const struct stored_file *before,
                                              const struct stored_file *now,
                                              struct weir_error *err) WEIR_MUST_USE;
/* True when what `found` describes is being overwritten. */
bool storage_scrub_is_of(const char *data_dir, const struct stat *found);
/* Nothing of any erasure is half-way. */
void storage_scrub_intend_nothing(const char *data_dir);

#endif
