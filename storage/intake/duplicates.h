/* Samples of one key, as `duplicates: keep:` has it. Keys are compared by their hashes: among a billion keys,
 * one sample in 18 billion is taken for another's duplicate. What came first has the smaller id, so that the
 * outcome does not depend on how samples were cut into batches. Inside the transaction of a batch. */
#ifndef WEIR_STORAGE_DUPLICATES_H
#define WEIR_STORAGE_DUPLICATES_H

#include "storage/intake/batch_stage.h"
#include "storage/keys/id_list.h"

/* `keep: first`: rows whose key a live sample or an earlier row has are taken out of the batch and counted.
 * Before ids are given. */
enum weir_status storage_duplicates_refuse(struct batch *batch, struct weir_db *db,
                                           struct weir_error *err) WEIR_MUST_USE;

/* `keep: last`: adds the live samples (block << 16 | row, ascending) that rows of the batch take the place
 * of, those of the batch itself among them, which begins at `first_row`. Before the batch's keys are
 * stored. */
enum weir_status storage_duplicates_replaced(struct batch *batch, struct weir_db *db,
                                             uint64_t first_row, struct id_list *places,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
