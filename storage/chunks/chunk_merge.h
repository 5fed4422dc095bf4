/* Merging small chunks of one block in the background, one merge at a time. Ids, erased bitmaps, file
 * numbers, the feed and replays know nothing of it: a merged chunk keeps the list of changes that added
 * its rows (added_runs.h), and references to chunks are looked up again for each request. One transaction a
 * merge: killed at any point, either the old chunks are there or the new one. */
#ifndef WEIR_STORAGE_CHUNK_MERGE_H
#define WEIR_STORAGE_CHUNK_MERGE_H

#include "storage/chunks/chunk_cache.h"

/* Merges once, if anything is to be merged: at most a block of rows. *ret_more: ask again. After an error
 * the catalog must be loaded again. */
enum weir_status storage_chunk_merge_step(struct weir_db *db, struct chunk_cache *cache,
                                          struct dataset *dataset, bool *ret_more,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
