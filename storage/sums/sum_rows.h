/* Rows of storage.block_sum, at hand while one block after the other is looked up. What is changed is written when
 * another row is turned to, or at the end, in the caller's transaction. Zeroed but for `db` is none. */
#ifndef WEIR_STORAGE_SUM_ROWS_H
#define WEIR_STORAGE_SUM_ROWS_H

#include "core/db/db.h"
#include "storage/sums/block_sum.h"

struct sum_row {
    struct sum_key key;
    bool is_there, is_changed;
    struct block_sum sums[SUM_SLOTS];
};

struct sum_rows {
    struct weir_db *db;
    struct sum_row firsts, others; /* of first blocks, and of what follows */
};

enum weir_status storage_sum_rows_get(struct sum_rows *rows, const struct block_at *at,
                                      struct block_sum *ret_sum,
                                      struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_sum_rows_put(struct sum_rows *rows, const struct block_at *at,
                                      struct block_sum sum, struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_sum_rows_write(struct sum_rows *rows,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Drops the sums of a file, in the caller's transaction. */
enum weir_status storage_sum_rows_drop(struct weir_db *db, uint32_t dataset, uint64_t file,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
