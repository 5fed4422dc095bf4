/* Which changes added the rows of a chunk: what the column `runs` of table `chunk` holds. A chunk that one
 * change added needs nothing but that change's number; a merged one keeps the list, so that the feed and
 * replays tell the same before and after a merge.
 *
 *     0  u32  number of runs           4  u32  bytes of the column that follows
 *     8  the first row of each run, less the chunk's; then its sequence: packed columns */
#ifndef WEIR_STORAGE_ADDED_RUNS_H
#define WEIR_STORAGE_ADDED_RUNS_H

#include "storage/catalog/catalog.h"

/* Appends nothing when one change added all rows of the chunk. */
void storage_added_runs_pack(const struct dataset *dataset, const struct chunk_ref *chunk,
                             struct weir_buf *out);
/* Adds the runs of the chunk, which follow those of the dataset. `sequence` is its newest change. */
enum weir_status storage_added_runs_unpack(struct dataset *dataset, const struct chunk_ref *chunk,
                                           uint64_t sequence, struct weir_bytes packed,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
