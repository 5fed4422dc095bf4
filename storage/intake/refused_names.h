/* Subjects and keys of records that became no sample and stand in a mirror of a bucket, as keyed hashes, file by file:
 * which files an erasure has to go over. */
#ifndef WEIR_STORAGE_REFUSED_NAMES_H
#define WEIR_STORAGE_REFUSED_NAMES_H

#include "storage/intake/batch_stage.h"

/* Inside the transaction of the batch: names that were staged. */
enum weir_status storage_refused_names_store(struct batch *batch, struct weir_db *db,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Replaces what is known of the file at `path`; sorts the hashes. */
enum weir_status storage_refused_names_replace(struct weir_db *db, const struct dataset *dataset,
                                               const char *path, struct id_list *hashes,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
