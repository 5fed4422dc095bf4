/* Samples that stop being live, inside the caller's transaction: bitmap, accounting, change feed. */
#ifndef WEIR_STORAGE_TOMBSTONES_H
#define WEIR_STORAGE_TOMBSTONES_H

#include "core/wire/wire.h"
#include "storage/chunks/chunk_cache.h"

/* Marks `ids` (ascending, distinct, of this dataset) REMOVED, REPLACED or ERASED; those that are so
 * already are passed over, and ERASED takes over what was removed or replaced. Feed rows get the next
 * change sequences. The dataset's row is the caller's to store. After a failure the catalog must be
 * loaded again. */
enum weir_status storage_tombstones_write(struct weir_db *db, struct chunk_cache *cache,
                                          struct dataset *dataset, enum weir_change_kind kind,
                                          const struct weir_u64s *ids,
                                          struct weir_error *err) WEIR_MUST_USE;

/* Stores the dataset's numbers; `sequence_before` is what the row must still say. */
enum weir_status storage_dataset_store(struct weir_db *db, const struct dataset *dataset,
                                       uint64_t sequence_before,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
