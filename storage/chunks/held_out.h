/* Rows that no training set ever holds, because of whose data they are: drawn at the door by the keyed hash of
 * the subject, so that all samples of a person fall on one side, in every dataset of the store, and nothing
 * about the person has to be kept. By block as one bit a row; rows without a subject are not held out. */
#ifndef WEIR_STORAGE_HELD_OUT_H
#define WEIR_STORAGE_HELD_OUT_H

#include "core/base/bits.h"
#include "core/db/db.h"
#include "storage/keys/sorted_run_segment.h"

/* Marks, of new rows, those whose subject's hash is below the share. `id` of an entry counts from
 * `first_row` (block << 16 | row of the dataset). Part of the caller's transaction. */
struct held_out_rows {
    double share;
    const struct sorted_run_entry *entries;
    size_t count;
    uint64_t first_row;
};
enum weir_status storage_held_out_add(struct weir_db *db, uint64_t dataset,
                                      const struct held_out_rows *rows,
                                      struct weir_error *err) WEIR_MUST_USE;
/* The rows of a block that are held out, added to `rows`. */
enum weir_status storage_held_out_read(struct weir_db *db, uint64_t dataset, uint64_t block,
                                       struct weir_bits *rows,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
