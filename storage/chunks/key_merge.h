/* Merging sorted runs in the background, a bounded piece at a time on storage's loop. The runs that are
 * merged stay as they are until the merged one takes their place in one transaction; after a death in
 * between the half-written one is dropped and the merge begins again. Owned by struct storage. */
#ifndef WEIR_STORAGE_KEY_MERGE_H
#define WEIR_STORAGE_KEY_MERGE_H

#include "storage/catalog/catalog.h"

/* Entries per step: a few milliseconds, which a look-up in between has to wait. */
enum { KEY_MERGE_ENTRIES = 8192 };

struct key_merge;

void storage_key_merge_free(struct key_merge *merge);
WEIR_DEFINE_AUTO(key_merge, storage_key_merge_free)

/* Begins a merge if an index of the catalog has too many runs; *ret_merge stays NULL otherwise. `least`
 * runs of one size are too many (run_policy.h). */
enum weir_status storage_key_merge_begin(struct weir_db *db, const struct catalog *catalog,
                                         size_t least, struct key_merge **ret_merge,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Merges some more. After an error the catalog must be loaded again and the merge be freed. */
enum weir_status storage_key_merge_step(struct key_merge *merge, bool *ret_done,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Gives it up, because what it has read is not true any more. */
enum weir_status storage_key_merge_stop(struct key_merge *merge,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
