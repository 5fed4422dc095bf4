/* The columns of a dataset whose records are tables: those of the first file that gave it samples, which every other
 * file has to have, too, in the same order; more may follow. So a field has one place in all records, and readers know
 * it by name. When no file is left that has samples, as when the only one is replaced, the next one brings its own. */
#ifndef WEIR_STORAGE_TABLE_COLUMNS_H
#define WEIR_STORAGE_TABLE_COLUMNS_H

#include "storage/catalog/catalog.h"

/* INVALID when the file that begins with `head`, of `size` bytes, lacks columns that are declared, or that the dataset
 * has. */
enum weir_status storage_table_columns_check(const struct dataset *dataset, struct weir_bytes head,
                                             uint64_t size, struct weir_error *err) WEIR_MUST_USE;
/* Notes that such a file gave samples, which are staged: the dataset has its columns from now on. */
void storage_table_columns_adopt(struct dataset *dataset, struct weir_bytes head, uint64_t size);
/* How records with other columns, as those that begin with `head`, fall into those of the dataset: `order`, in the
 * caller's memory, has for each column of the dataset its place in such a record, or -1. NULL: they fit as they are, or
 * nothing is known. Of `fields`, none need be there. INVALID when none of the columns is. */
struct table_columns_order {
    int *order;
    size_t count;
};
enum weir_status storage_table_columns_order(const struct dataset *dataset, struct weir_bytes head,
                                             uint64_t size, struct table_columns_order *ret_order,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
