/* Merging sorted runs in the background, a bounded piece at a time on storage's loop. The runs that are
 * merged stay as they are until the merged one takes their place in one transaction; after a death in
 * between the half-written one is dropped and the merge begins again. */
#ifndef WEIR_STORAGE_KEY_MERGE_H
#define WEIR_STORAGE_KEY_MERGE_H

#include "storage/store/store.h"

/* Entries per step: a few milliseconds, which a look-up in between has to wait. */
enum { KEY_MERGE_ENTRIES = 8192 };

/* A piece of the store's merge, which begins when an index of the catalog has too many runs: `least` of one size
 * (sorted_run_policy.h). *ret_more: there is more to merge. After an error the catalog must be loaded again. */
enum weir_status storage_key_merge_step(struct store *store, size_t least, bool *ret_more,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Gives the store's merge up, because what it has read is no longer true: it begins again. */
enum weir_status storage_key_merge_stop(struct store *store, struct weir_error *err) WEIR_MUST_USE;
/* Forgets it when the catalog is loaded again. */
void storage_key_merge_drop(struct store *store);

#endif
